// Decoded samples of this process kept in memory, up to a number of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace staging {

/// Samples are never evicted, and are shared with callers. Thread-safe.
template <class Sample>
class SampleCache {
 public:
  explicit SampleCache(std::int64_t bytes) : left_(bytes) {}

  /// Null when the sample is absent.
  std::shared_ptr<const Sample> find(std::int64_t index) const {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(index);
    return found == kept_.end() ? nullptr : found->second;
  }

  /// Sets aside `bytes` for sample `index`, to be stored later by keep(). Returns false if fewer
  /// bytes are left, or if the sample is present or already has a reservation.
  bool reserve(std::int64_t index, std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes > left_ || kept_.count(index) != 0) return false;
    left_ -= bytes;
    kept_[index] = nullptr;
    return true;
  }

  /// Stores a sample for which reserve() returned true.
  void keep(std::int64_t index, std::shared_ptr<const Sample> sample) {
    const std::scoped_lock lock(mutex_);
    kept_[index] = std::move(sample);
  }

  /// Number of samples present or reserved.
  std::int64_t samples() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::int64_t>(kept_.size());
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t left_;
  std::unordered_map<std::int64_t, std::shared_ptr<const Sample>> kept_;
};

}  // namespace staging

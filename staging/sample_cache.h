// Decoded samples of this process that stay in memory, up to a number of bytes.
// Hides the lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace staging {

/// What is in stays, and is shared with whoever asks. Threads may ask at once.
template <class Sample>
class SampleCache {
 public:
  explicit SampleCache(std::int64_t bytes) : left_(bytes) {}

  /// Null when it is not there.
  std::shared_ptr<const Sample> find(std::int64_t index) const {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(index);
    return found == kept_.end() ? nullptr : found->second;
  }

  /// Whether `bytes` were free and are now set aside for sample `index`, to be kept later. False,
  /// too, when it is there or has been promised its place before.
  bool reserve(std::int64_t index, std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes > left_ || kept_.count(index) != 0) return false;
    left_ -= bytes;
    kept_[index] = nullptr;
    return true;
  }

  /// What a place was reserved for.
  void keep(std::int64_t index, std::shared_ptr<const Sample> sample) {
    const std::scoped_lock lock(mutex_);
    kept_[index] = std::move(sample);
  }

  /// There, or promised a place.
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

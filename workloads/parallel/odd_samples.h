// Counts the samples with some oddity: each once, however often it is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace parallel {

enum class SampleSet { kTrain, kValidation };

/// Takes a bit a sample of a set, once one is odd. Thread-safe.
class OddSamples {
 public:
  /// Returns whether the sample is counted now, because it was not before.
  bool count(SampleSet set, std::int64_t index) {
    const std::lock_guard lock(mutex_);
    std::vector<bool>& counted = counted_.at(static_cast<std::size_t>(set));
    const auto at = static_cast<std::size_t>(index);
    if (at >= counted.size()) counted.resize(at + 1);
    if (counted[at]) return false;
    counted[at] = true;
    ++since_last_take_;
    return true;
  }
  /// The number of samples counted since the last call.
  std::int64_t take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(since_last_take_, 0);
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<bool>, 2> counted_;
  std::int64_t since_last_take_ = 0;
};

}  // namespace parallel

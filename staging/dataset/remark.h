// A remark on data, for people, that many threads may make many times.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dataset {

/// Keeps the first text and counts the others. Thread-safe.
class Remark {
 public:
  void note(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (times_++ == 0) first_ = text;
  }
  /// Appends the first text since the last call, if there was one, and how many more there were.
  void take_into(std::vector<std::string>& remarks) {
    const std::lock_guard lock(mutex_);
    if (times_ == 0) return;
    if (times_ > 1) first_ += " (and " + std::to_string(times_ - 1) + " more such)";
    remarks.push_back(std::exchange(first_, ""));
    times_ = 0;
  }

 private:
  std::mutex mutex_;
  std::string first_;
  std::int64_t times_ = 0;
};

}  // namespace dataset

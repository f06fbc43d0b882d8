// Waiting for what happens in another thread or process.
// Hides how long is long enough.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

/// Waits for `happens`, for far longer than it takes on a busy machine. Whether it came.
inline bool comes(const std::function<bool()>& happens) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < end) {
    if (happens()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

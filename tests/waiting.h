// Waits for events in other threads or processes.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

/// Waits until `happens` returns true, much longer than it takes on a busy machine. Returns whether
/// it did.
inline bool comes(const std::function<bool()>& happens) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < end) {
    if (happens()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// for_each_index: calls each index once, and which exception is thrown.
#include "runner/base/for_each_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace base {
namespace {

TEST(ForEachIndex, CallsWithEachIndexOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::size_t count : {0u, 1u, 3u, 1000u}) {
      std::vector<std::atomic<int>> calls(count);
      for_each_index(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& of_index : calls) EXPECT_EQ(of_index, 1) << threads;
    }
  }
}

TEST(ForEachIndex, WorksOnSeveralThreads) {
  // Each call waits until the other has begun: on one thread this would never end.
  std::atomic<int> begun = 0;
  for_each_index(2, 2, [&](std::size_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 2);
}

TEST(ForEachIndex, ThrowsWhatTheSmallestIndexThrew) {
  for (const int threads : {1, 4}) {
    std::atomic<int> calls = 0;
    try {
      for_each_index(100000, threads, [&](std::size_t i) {
        ++calls;
        if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "3");
    }
    EXPECT_LT(calls, 100000) << "goes on after a failure";
  }
}

}  // namespace
}  // namespace base

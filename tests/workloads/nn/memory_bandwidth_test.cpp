// Bandwidths are those of memory: bytes of known blocks over seconds.
// Hides nothing.
#include "workloads/nn/memory_bandwidth.h"

#include <gtest/gtest.h>

#include <chrono>

namespace {

/// Between what any memory has and what none has; the best pass is no slower than all together.
void expect_bandwidth(double (*measure)(int), int blocks) {
  constexpr int kPasses = 2;
  const auto began = std::chrono::steady_clock::now();
  const double found = measure(kPasses);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double bytes = static_cast<double>(blocks * nn::kBandwidthBlockBytes);
  EXPECT_GE(found, kPasses * bytes / took.count());
  EXPECT_LT(found, 2e12);
}

TEST(Bandwidth, OfACopyCountsTwoBlocks) { expect_bandwidth(nn::copy_bandwidth, 2); }

TEST(Bandwidth, OfATriadCountsThreeBlocks) { expect_bandwidth(nn::triad_bandwidth, 3); }

}  // namespace

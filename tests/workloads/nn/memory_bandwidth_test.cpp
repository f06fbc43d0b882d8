// Bandwidths of memory: bytes of known blocks over seconds.
#include "workloads/nn/memory_bandwidth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "workloads/kernels/usable_kernels.h"

namespace {

/// Makes passes take the given numbers of seconds.
class PassClock final : public base::Clock {
 public:
  explicit PassClock(std::vector<std::int64_t> passes_s) : passes_s_(std::move(passes_s)) {}
  std::int64_t steady_ns() const override {
    constexpr std::int64_t kSecond_ns = 1'000'000'000;
    if (readings_++ % 2 == 1) now_ns_ += kSecond_ns * passes_s_.at(readings_ / 2 - 1);
    return now_ns_;
  }
  std::int64_t unix_ms() const override { return 0; }

 private:
  std::vector<std::int64_t> passes_s_;
  mutable std::size_t readings_ = 0;
  mutable std::int64_t now_ns_ = 0;
};

TEST(Bandwidth, OfACopyIsThatOfTheMedianOfTwoBlocks) {
  const PassClock clock({5, 3, 9, 4, 5});
  nn::CopyBandwidth bandwidth(best_kernels());
  EXPECT_TRUE(std::isnan(bandwidth.usual()));
  for (int i = 0; i < 5; ++i) bandwidth.measure(clock);
  EXPECT_DOUBLE_EQ(bandwidth.usual(), 2.0 * nn::kBandwidthBlockBytes / 5.0);
}

TEST(Bandwidth, OfATriadIsTheBestOfThreeBlocks) {
  const PassClock clock({5, 3, 4});
  EXPECT_DOUBLE_EQ(nn::triad_bandwidth(best_kernels(), 3, clock),
                   3.0 * nn::kBandwidthBlockBytes / 3.0);
}

/// Within bounds that hold for any memory.
TEST(Bandwidth, IsThatOfAMemory) {
  constexpr int kPasses = 3;
  const base::SystemClock clock;
  nn::CopyBandwidth copies(best_kernels());
  const std::int64_t began_ns = clock.steady_ns();
  for (int i = 0; i < kPasses; ++i) copies.measure(clock);
  const double took_s = static_cast<double>(clock.steady_ns() - began_ns) * 1e-9;
  // The median of three is no longer than two of them together.
  EXPECT_GE(copies.usual(), 2.0 * nn::kBandwidthBlockBytes / took_s);
  EXPECT_LT(copies.usual(), 2e12);
  const double triad = nn::triad_bandwidth(best_kernels(), kPasses, clock);
  EXPECT_GT(triad, 1e8);
  EXPECT_LT(triad, 2e12);
}

/// A block that was never written is one page of zeros, from which a copy takes half the time.
TEST(Bandwidth, IsOfPagesThatAreThere) {
  const base::SystemClock clock;
  const auto resident_kib = [] {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::int64_t kib = 0;
    while (status >> word) {
      if (word == "VmRSS:") status >> kib;
    }
    return kib;
  };
  const std::int64_t before = resident_kib();
  const nn::CopyBandwidth copies(best_kernels());
  EXPECT_GE(resident_kib() - before, 2 * nn::kBandwidthBlockBytes / 1024 * 9 / 10);
}

}  // namespace

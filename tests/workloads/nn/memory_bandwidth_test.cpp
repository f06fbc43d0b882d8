// Bandwidths are those of memory: bytes of known blocks over seconds.
// Hides nothing.
#include "workloads/nn/memory_bandwidth.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {

using Bandwidth = double (*)(int repetitions, const base::Clock& clock);

/// By which passes take as many seconds as it is told.
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

/// Of the blocks in the best pass but for the first one, in which the pages are made.
void expect_blocks(Bandwidth measure, int blocks) {
  const PassClock clock({1, 5, 3, 4});
  EXPECT_DOUBLE_EQ(measure(3, clock), static_cast<double>(blocks * nn::kBandwidthBlockBytes) / 3.0);
}

TEST(Bandwidth, OfACopyCountsTwoBlocks) { expect_blocks(nn::copy_bandwidth, 2); }

TEST(Bandwidth, OfATriadCountsThreeBlocks) { expect_blocks(nn::triad_bandwidth, 3); }

/// Between what any memory has and what none has; the best pass is no slower than all together.
TEST(Bandwidth, IsThatOfAMemory) {
  constexpr int kPasses = 2;
  const base::SystemClock clock;
  for (const auto& [measure, blocks] : {std::pair<Bandwidth, int>{nn::copy_bandwidth, 2},
                                        std::pair<Bandwidth, int>{nn::triad_bandwidth, 3}}) {
    const std::int64_t began_ns = clock.steady_ns();
    const double found = measure(kPasses, clock);
    const double took_s = static_cast<double>(clock.steady_ns() - began_ns) * 1e-9;
    EXPECT_GE(found, static_cast<double>(kPasses * blocks * nn::kBandwidthBlockBytes) / took_s);
    EXPECT_LT(found, 2e12);
  }
}

}  // namespace

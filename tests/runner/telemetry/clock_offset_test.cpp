// Offsets of simulated clocks, from messages with random delays.
#include "runner/telemetry/clock_offset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"

namespace telemetry {
namespace {

using base::kSecondNs;

constexpr std::int64_t kHourNs = 3600 * kSecondNs;

/// Another clock with a known offset at local time 0 and a known drift.
struct OtherClock {
  std::int64_t ahead_ns = 0;
  double drift = 0.0;
  std::int64_t at(std::int64_t own_ns) const {
    return own_ns + ahead_ns + std::llround(drift * static_cast<double>(own_ns));
  }
};

/// Delays of a busy network: each way some microseconds, at times much more.
class Network {
 public:
  std::vector<RoundTrip> ask(const OtherClock& other, std::int64_t own_ns, int times) {
    std::vector<RoundTrip> trips;
    for (int i = 0; i < times; ++i) {
      const std::int64_t there = own_ns + delay(), back = there + delay();
      trips.push_back({own_ns, other.at(there), back});
      own_ns = back;
    }
    return trips;
  }

 private:
  std::int64_t delay() {
    return 5'000 + std::llround(std::exponential_distribution<>(1.0 / 200'000.0)(random_));
  }
  std::mt19937_64 random_{11};
};

TEST(ClockOffset, IsExactWhereBothWaysTakeAsLong) {
  const ClockOffset offset = estimate_offset(std::vector<RoundTrip>{{100, 5150, 200}});
  EXPECT_EQ(offset.offset_ns, -5000);
  EXPECT_EQ(offset.uncertainty_ns, 50);
  EXPECT_EQ(offset.there_ns, 5150);
}

TEST(ClockOffset, TakesTheShortestRoundTrip) {
  const std::vector<RoundTrip> trips = {{0, 1000, 400}, {500, 1510, 520}, {600, 1900, 700}};
  const ClockOffset offset = estimate_offset(trips);
  EXPECT_EQ(offset.offset_ns, -1000);
  EXPECT_EQ(offset.uncertainty_ns, 10);
}

TEST(ClockOffset, ErrsByItsUncertaintyAtMost) {
  Network network;
  for (const std::int64_t ahead :
       {-7 * kHourNs, std::int64_t{0}, std::int64_t{12345}, 90 * kHourNs}) {
    for (int round = 0; round < 200; ++round) {
      const OtherClock other{ahead, 0.0};
      const ClockOffset offset = estimate_offset(network.ask(other, round * kSecondNs, 10));
      EXPECT_LE(std::abs(offset.offset_ns + ahead), offset.uncertainty_ns);
      EXPECT_LT(offset.uncertainty_ns, 250'000) << "ten messages are not all delayed";
    }
  }
}

TEST(ClockOffset, ErrsAsSaidWhenAllDelayIsOnOneWay) {
  const ClockOffset there = estimate_offset(std::vector<RoundTrip>{{0, 1000, 1001}});
  EXPECT_LE(std::abs(there.offset_ns), there.uncertainty_ns);
  const ClockOffset back = estimate_offset(std::vector<RoundTrip>{{0, 0, 1001}});
  EXPECT_LE(std::abs(back.offset_ns), back.uncertainty_ns);
}

TEST(ClockOffset, NeedsARoundTripThatMakesSense) {
  EXPECT_THROW(estimate_offset({}), base::Error);
  EXPECT_THROW(estimate_offset(std::vector<RoundTrip>{{200, 0, 100}}), base::Error);
}

TEST(ClockMap, OfOneClockChangesNothing) {
  EXPECT_EQ(ClockMap().to_own(123'456'789'012'345), 123'456'789'012'345);
  EXPECT_EQ(ClockMap().drift(), 0.0);
  EXPECT_EQ(ClockMap().uncertainty_ns(), 0);
}

TEST(ClockMap, FollowsADriftWithinItsUncertainty) {
  Network network;
  for (const double drift : {-3e-5, -1e-6, 0.0, 2e-5, 1e-4}) {
    const OtherClock other{5 * kSecondNs, drift};
    const ClockMap map(estimate_offset(network.ask(other, kSecondNs, 40)),
                       estimate_offset(network.ask(other, kHourNs, 40)));
    const double between = static_cast<double>(map.end().there_ns - map.start().there_ns);
    EXPECT_NEAR(map.drift(), -drift,
                2.0 * static_cast<double>(map.uncertainty_ns()) / between + drift * drift);
    for (std::int64_t own = kSecondNs; own <= kHourNs; own += 100 * kSecondNs) {
      EXPECT_LE(std::abs(map.to_own(other.at(own)) - own), map.uncertainty_ns() + 2)
          << "drift " << drift << " after " << own;
    }
  }
}

TEST(ClockMap, OfARunOfMomentsKeepsTheOrderAndTheBound) {
  // Two estimates 1 ms apart that differ by 1 ms: no clock drifts so fast.
  const ClockMap map({0, 1'000'000, 1'000'000}, {1'000'000, 0, 1'000'000});
  EXPECT_EQ(map.drift(), -1e-3);
  std::int64_t before = map.to_own(-5000);
  for (std::int64_t there = -4999; there < 5000; ++there) {
    const std::int64_t own = map.to_own(there);
    EXPECT_GE(own, before);
    before = own;
  }
  const ClockMap at_once({7, 100, 5}, {7, 120, 9});
  EXPECT_EQ(at_once.to_own(10), 110);
  EXPECT_EQ(at_once.uncertainty_ns(), 9);
}

}  // namespace
}  // namespace telemetry

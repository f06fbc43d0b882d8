// Telemetry on a clock set by hand, and on the real one.
#include "runner/telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"

namespace telemetry {
namespace {

using base::kSecondNs;

class Account : public ::testing::Test {
 protected:
  void pass(int seconds) { clock_.nanoseconds += seconds * kSecondNs; }
  double sum() const {
    double all = 0;
    for (int i = 0; i < kSubsystemCount; ++i) all += telemetry_.seconds(static_cast<Subsystem>(i));
    return all;
  }
  base::FakeClock clock_;
  Telemetry telemetry_{clock_};
};

TEST_F(Account, GivesTimeOutsideOfScopesToOther) {
  pass(3);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kOther), 3.0);
  EXPECT_EQ(telemetry_.wall_s(), 3.0);
}

TEST_F(Account, PausesTheOuterScopeWhileAnInnerOneLives) {
  {
    const Scope backward(telemetry_, Subsystem::kBackward);
    pass(2);
    {
      const Scope exchange(telemetry_, Subsystem::kExchange);
      pass(5);
    }
    pass(1);
  }
  pass(4);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kBackward), 3.0);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kExchange), 5.0);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kOther), 4.0);
  EXPECT_EQ(sum(), telemetry_.wall_s());
}

TEST_F(Account, KeepsAllOfEvaluationStagingAndCheckpoint) {
  for (const Subsystem outer :
       {Subsystem::kEvaluation, Subsystem::kStaging, Subsystem::kCheckpoint}) {
    telemetry_.restart();
    {
      const Scope scope(telemetry_, outer);
      pass(1);
      {
        const Scope forward(telemetry_, Subsystem::kForward);
        pass(2);
        const Scope exchange(telemetry_, Subsystem::kExchange);
        pass(3);
      }
      pass(1);
    }
    EXPECT_EQ(telemetry_.seconds(outer), 7.0);
    EXPECT_EQ(telemetry_.seconds(Subsystem::kForward), 0.0);
    EXPECT_EQ(telemetry_.seconds(Subsystem::kExchange), 0.0);
    EXPECT_EQ(telemetry_.seconds(Subsystem::kOther), 0.0);
  }
}

TEST_F(Account, TellsWhatInnerScopesTookOfTheWhole) {
  {
    const Scope evaluation(telemetry_, Subsystem::kEvaluation);
    pass(1);
    {
      const Scope forward(telemetry_, Subsystem::kForward);
      pass(2);
      const Scope exchange(telemetry_, Subsystem::kExchange);
      pass(3);
    }
    pass(4);
  }
  EXPECT_EQ(telemetry_.within_s(Subsystem::kEvaluation, Subsystem::kForward), 2.0);
  EXPECT_EQ(telemetry_.within_s(Subsystem::kEvaluation, Subsystem::kExchange), 3.0);
  const nlohmann::json within = telemetry_.to_json()["within_s"];
  EXPECT_EQ(within["evaluation"], (nlohmann::json{{"forward", 2.0}, {"exchange", 3.0}}));
  EXPECT_EQ(within["staging"], nlohmann::json::object());
  EXPECT_EQ(within.size(), 3U);
  telemetry_.restart();
  EXPECT_EQ(telemetry_.within_s(Subsystem::kEvaluation, Subsystem::kForward), 0.0);
}

TEST_F(Account, CountsEachMomentOfExchangesOnceInTheirTotal) {
  const TracedTransfer first = telemetry_.begin_exchange("ids", 8);
  pass(1);  // during other work
  {
    const Scope evaluation(telemetry_, Subsystem::kEvaluation);
    const Scope exchange(telemetry_, Subsystem::kExchange);
    pass(2);  // both are in flight
  }
  telemetry_.end_exchange(telemetry_.begin_exchange("ids", 8));
  pass(4);  // the first is still in flight
  telemetry_.end_exchange(first);
  pass(8);  // none is in flight
  {
    const Scope exchange(telemetry_, Subsystem::kExchange);
    pass(16);
    EXPECT_EQ(telemetry_.count(Counter::kExchangeTotalNs), 23 * kSecondNs);
  }
  EXPECT_EQ(telemetry_.count(Counter::kExchangeTotalNs), 23 * kSecondNs);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kExchange), 16.0);
}

TEST_F(Account, ForgetsWhatAnExchangeTookBeforeARestart) {
  const TracedTransfer transfer = telemetry_.begin_exchange("ids", 8);
  pass(5);
  telemetry_.restart();
  pass(1);
  telemetry_.end_exchange(transfer);
  EXPECT_EQ(telemetry_.to_json()["counters"]["exchange_total_ns"], kSecondNs);
}

TEST_F(Account, CountsTheScopeThatIsRunning) {
  const Scope input(telemetry_, Subsystem::kInput);
  pass(2);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kInput), 2.0);
  EXPECT_EQ(telemetry_.to_json()["subsystems_s"]["input"], 2.0);
}

TEST_F(Account, ForgetsEverythingAtARestartButTheLivingScope) {
  telemetry_.add(Counter::kSteps, 5);
  telemetry_.begin_step();
  EXPECT_EQ(telemetry_.end_step(), 0);
  std::optional<Scope> scope;
  scope.emplace(telemetry_, Subsystem::kStaging);
  pass(9);
  telemetry_.restart();
  pass(2);
  scope.reset();
  pass(1);
  EXPECT_EQ(telemetry_.wall_s(), 3.0);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kStaging), 2.0);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kOther), 1.0);
  EXPECT_EQ(telemetry_.count(Counter::kSteps), 0);
  EXPECT_EQ(telemetry_.to_json()["step_s"]["count"], 0);
}

TEST_F(Account, AddsCounters) {
  telemetry_.add(Counter::kBytesSent, 5'000'000'000);
  telemetry_.add(Counter::kBytesSent, 1);
  EXPECT_EQ(telemetry_.count(Counter::kBytesSent), 5'000'000'001);
  EXPECT_EQ(telemetry_.to_json()["counters"]["bytes_sent"], 5'000'000'001);
}

TEST_F(Account, EndsAScopeWhenAnExceptionLeavesIt) {
  try {
    const Scope forward(telemetry_, Subsystem::kForward);
    pass(1);
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
    pass(2);
  }
  EXPECT_EQ(telemetry_.seconds(Subsystem::kForward), 1.0);
  EXPECT_EQ(telemetry_.seconds(Subsystem::kOther), 2.0);
}

TEST(Telemetry, SumsToTheWallTimeOnTheRealClock) {
  const base::SystemClock clock;
  Telemetry telemetry(clock);
  const std::int64_t start = clock.steady_ns();
  double work = 1.0;
  for (int step = 0; step < 200; ++step) {
    const Scope forward(telemetry, Subsystem::kForward);
    for (int i = 0; i < 2000; ++i) work = std::sqrt(work + i);
    const Scope exchange(telemetry, Subsystem::kExchange);
    for (int i = 0; i < 1000; ++i) work = std::sqrt(work + i);
  }
  const nlohmann::json account = telemetry.to_json();
  const double elapsed_s = static_cast<double>(clock.steady_ns() - start) * 1e-9;
  double sum = 0;
  for (const auto& [name, seconds] : account["subsystems_s"].items()) sum += seconds.get<double>();
  EXPECT_GT(work, 0.0);
  EXPECT_NEAR(sum, account["wall_s"].get<double>(), 1e-9);
  EXPECT_LE(sum, elapsed_s + 1e-3);
  EXPECT_GT(account["subsystems_s"]["forward"].get<double>(), 0.0);
  EXPECT_GT(account["subsystems_s"]["exchange"].get<double>(), 0.0);
  EXPECT_EQ(account["scopes"], 400);
  EXPECT_GT(account["scope_cost_s"].get<double>(), 0.0);
}

TEST(ScopeCost, IsMeasuredAndSmall) {
  const double cost_s = measured_scope_cost_s(base::SystemClock());
  EXPECT_GT(cost_s, 0.0);
  EXPECT_LT(cost_s, 20e-6);  // two readings of a clock; allows for sanitizers and slow timers
}

TEST(ScopeCost, IsNothingOnAClockThatStands) {
  EXPECT_EQ(measured_scope_cost_s(base::FakeClock()), 0.0);
}

TEST(Names, AreDifferentAndDefined) {
  std::set<std::string> names, definitions;
  for (int i = 0; i < kSubsystemCount; ++i) {
    names.insert(to_string(static_cast<Subsystem>(i)));
    definitions.insert(subsystem_definition(static_cast<Subsystem>(i)));
  }
  for (int i = 0; i < kCounterCount; ++i) {
    names.insert(to_string(static_cast<Counter>(i)));
    definitions.insert(counter_definition(static_cast<Counter>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kSubsystemCount + kCounterCount));
  EXPECT_EQ(definitions.size(), names.size());
  EXPECT_STREQ(to_string(Subsystem::kCheckpoint), "checkpoint");
  EXPECT_STREQ(to_string(Counter::kExchangeTotalNs), "exchange_total_ns");
}

TEST(Histogram, GivesQuantilesWithinABucket) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(i * 1'000'000);
  EXPECT_EQ(histogram.count(), 1000);
  EXPECT_NEAR(histogram.mean_s(), 0.5005, 1e-12);
  EXPECT_EQ(histogram.min_s(), 0.001);
  EXPECT_EQ(histogram.max_s(), 1.0);
  for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(histogram.quantile_s(q) / q, 1.0, 0.05) << q;
  }
  EXPECT_EQ(histogram.quantile_s(0.0), 0.001);
  EXPECT_EQ(histogram.quantile_s(1.0), 1.0);
}

TEST(Histogram, HoldsASingleDurationExactly) {
  Histogram histogram;
  histogram.add(123'456'789);
  for (const double q : {0.0, 0.5, 1.0}) EXPECT_NEAR(histogram.quantile_s(q), 0.123456789, 1e-15);
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.quantile_s(0.5), 0.0);
  EXPECT_EQ(histogram.mean_s(), 0.0);
  EXPECT_EQ(histogram.to_json()["bucket_counts"], nlohmann::json::array());
}

TEST(Histogram, StaysSmallForAnyDuration) {
  Histogram histogram;
  histogram.add(0);
  histogram.add(1);
  histogram.add(std::int64_t{1} << 62);
  EXPECT_EQ(histogram.to_json()["bucket_counts"].size(), 2u);
  EXPECT_EQ(histogram.count(), 3);
}

TEST(Histogram, RefusesANegativeDuration) {
  Histogram histogram;
  EXPECT_THROW(histogram.add(-1), base::Error);
}

}  // namespace
}  // namespace telemetry

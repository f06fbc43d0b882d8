// Traces of steps on a clock set by hand, and parsing of step ranges.
#include "runner/telemetry/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/activity.h"
#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/thrown_message.h"
#include "runner/telemetry/telemetry.h"

namespace telemetry {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StrEq;
using Kind = TraceEvent::Kind;

TEST(StepRange, IsReadFromTwoNumbers) {
  const StepRange range = parse_step_range("10:1200");
  EXPECT_EQ(range.first, 10);
  EXPECT_EQ(range.last, 1200);
  EXPECT_EQ(parse_step_range("3:3").last, 3);
}

TEST(StepRange, IsRefusedUnlessItBeginsAtOneAndIsInOrder) {
  for (const char* text : {"5:2", "x", "0", "0:3", "-1:3", "3", "3:", ":3", "1:2:3", "1:2 ", " 1:2",
                           "1.5:2", "+1:2", "", ":", "1:99999999999999999999"}) {
    const std::string message =
        base::thrown_message<base::ConfigError>([&] { parse_step_range(text); });
    EXPECT_THAT(message, AllOf(HasSubstr("expected FIRST:LAST"),
                               HasSubstr("got '" + std::string(text) + "'")));
  }
}

class Traced : public testing::Test {
 protected:
  Traced() { telemetry_.trace_to(trace_); }
  void pass(std::int64_t nanoseconds) { clock_.nanoseconds += nanoseconds; }
  /// A step of 10 ns in forward, 2 without a scope, 5 in exchange.
  void step() {
    telemetry_.begin_step();
    {
      const Scope forward(telemetry_, Subsystem::kForward);
      pass(10);
    }
    pass(2);
    {
      const Scope exchange(telemetry_, Subsystem::kExchange);
      pass(5);
    }
    telemetry_.end_step();
  }
  std::vector<TraceEvent> of_kind(Kind kind) const {
    std::vector<TraceEvent> events = trace_.events();
    std::erase_if(events, [kind](const TraceEvent& event) { return event.kind != kind; });
    return events;
  }
  base::FakeClock clock_;
  base::Activity activity_;
  Telemetry telemetry_{clock_, &activity_};
  Trace trace_{{2, 3}};
};

auto lasts(std::int64_t begin, std::int64_t end) {
  return AllOf(Field(&TraceEvent::begin_ns, begin), Field(&TraceEvent::end_ns, end));
}

TEST_F(Traced, HasTheStepsAskedForAndNothingOfOthers) {
  const std::int64_t t = clock_.nanoseconds;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(trace_.traced_steps(), 2);
  EXPECT_EQ(trace_.steps_ns(), 34);
  EXPECT_EQ(trace_.exchange_ns(), 10);
  const auto steps = of_kind(Kind::kStep);
  EXPECT_THAT(steps, ElementsAre(lasts(t + 17, t + 34), lasts(t + 34, t + 51)));
  EXPECT_EQ(steps[0].amount, 2);
  EXPECT_EQ(steps[1].amount, 3);
  EXPECT_THAT(of_kind(Kind::kScope), ElementsAre(lasts(t + 17, t + 27), lasts(t + 29, t + 34),
                                                 lasts(t + 34, t + 44), lasts(t + 46, t + 51)));
}

TEST_F(Traced, CountsOnInAResumedRun) {
  telemetry_.restart();
  activity_.set_steps(2);
  step();
  step();
  ASSERT_EQ(trace_.traced_steps(), 1);
  EXPECT_EQ(of_kind(Kind::kStep)[0].amount, 3);
}

TEST_F(Traced, ForgetsAllAtARestart) {
  step();
  step();
  telemetry_.restart();
  EXPECT_EQ(trace_.traced_steps(), 0);
  EXPECT_THAT(trace_.events(), IsEmpty());
  EXPECT_THAT(trace_.transfers(), IsEmpty());
}

TEST_F(Traced, LeavesOutAScopeThatWasEnteredBeforeTheStep) {
  step();
  {
    const Scope outer(telemetry_, Subsystem::kForward);
    telemetry_.begin_step();
    pass(1);
    telemetry_.end_step();
  }
  EXPECT_THAT(of_kind(Kind::kScope), IsEmpty());
  EXPECT_EQ(trace_.traced_steps(), 1);
}

TEST_F(Traced, PutsLayersIntoTheirScope) {
  step();
  telemetry_.begin_step();
  const std::int64_t t = clock_.nanoseconds;
  {
    const Scope forward(telemetry_, Subsystem::kForward);
    for (const char* name : {"conv1", "bn1"}) {
      telemetry_.enter_layer(name, "direct_tiles");
      pass(3);
      telemetry_.leave_layer();
    }
    pass(1);
  }
  telemetry_.end_step();
  const auto events = trace_.events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_THAT(of_kind(Kind::kLayer), ElementsAre(lasts(t, t + 3), lasts(t + 3, t + 6)));
  EXPECT_EQ(events[0].kind, Kind::kStep);
  EXPECT_THAT(events[1].name, StrEq("forward"));
  EXPECT_THAT(events[2].name, StrEq("conv1"));
}

TEST_F(Traced, TellsOfTransfersWhatIsExposedAndWhatIsHidden) {
  step();
  telemetry_.begin_step();
  pass(1);
  const TracedTransfer ids = telemetry_.begin_exchange("ids", 100);
  pass(10);  // during work
  const TracedTransfer gradients = telemetry_.begin_exchange("gradients", 7);
  const TracedTransfer more = telemetry_.begin_exchange("ids", 50);
  pass(20);  // all three in flight
  telemetry_.end_exchange(ids);
  {
    const Scope exchange(telemetry_, Subsystem::kExchange);
    pass(40);
    telemetry_.end_exchange(more);
    pass(80);  // gradients alone
    telemetry_.end_exchange(gradients);
    pass(160);  // such as packing
  }
  telemetry_.end_step();
  const auto& transfers = trace_.transfers();
  ASSERT_EQ(transfers.size(), 2U);
  EXPECT_EQ(transfers[0].name, "ids");
  EXPECT_EQ(transfers[0].count, 2);
  EXPECT_EQ(transfers[0].bytes, 150);
  EXPECT_EQ(transfers[0].in_flight_ns, 70);
  EXPECT_EQ(transfers[0].exposed_ns, 40);
  EXPECT_EQ(transfers[0].hidden_ns(), 30);
  EXPECT_EQ(transfers[1].in_flight_ns, 140);
  EXPECT_EQ(transfers[1].exposed_ns, 120);
  const TransferTimes& all = trace_.all_transfers();
  EXPECT_EQ(all.count, 3);
  EXPECT_EQ(all.bytes, 157);
  EXPECT_EQ(all.in_flight_ns, 150);
  EXPECT_EQ(all.exposed_ns, 120);
  EXPECT_EQ(trace_.exchange_ns(), 280);
  EXPECT_EQ(of_kind(Kind::kTransfer).size(), 3U);
}

TEST_F(Traced, CountsOfATransferThatOutlastsTheStepOnlyWhatLiesInSteps) {
  step();
  telemetry_.begin_step();
  const TracedTransfer ids = telemetry_.begin_exchange("ids", 1);
  pass(3);
  telemetry_.end_step();
  pass(100);
  telemetry_.begin_step();
  pass(5);
  telemetry_.end_exchange(ids);
  pass(7);
  telemetry_.end_step();
  EXPECT_EQ(trace_.transfers()[0].in_flight_ns, 8);
  EXPECT_EQ(trace_.steps_ns(), 15);
  EXPECT_EQ(of_kind(Kind::kTransfer).size(), 1U);
}

TEST_F(Traced, KnowsTheEndOfATransferThatOutlastsAllItsSteps) {
  step();
  step();
  telemetry_.begin_step();
  const std::int64_t t = clock_.nanoseconds;
  const TracedTransfer ids = telemetry_.begin_exchange("ids", 1);
  const TracedTransfer more = telemetry_.begin_exchange("ids", 1);
  pass(3);
  telemetry_.end_step();
  pass(4);
  telemetry_.end_exchange(ids);
  telemetry_.end_exchange(more);
  EXPECT_EQ(trace_.transfers()[0].in_flight_ns, 3);
  EXPECT_THAT(of_kind(Kind::kTransfer), ElementsAre(lasts(t, t + 7), lasts(t, t + 7)));
}

TEST_F(Traced, KnowsNothingOfTransfersThatBeganBefore) {
  const TracedTransfer early = telemetry_.begin_exchange("ids", 1);
  step();
  telemetry_.begin_step();
  pass(3);
  telemetry_.end_exchange(early);
  telemetry_.end_step();
  EXPECT_THAT(trace_.transfers(), IsEmpty());
  EXPECT_EQ(trace_.all_transfers().in_flight_ns, 0);
}

/// Each reading takes a nanosecond.
class TickingClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return ++readings; }
  std::int64_t unix_ms() const override { return 0; }
  mutable std::int64_t readings = 0;
};

TEST(TraceCost, IsThatOfAScopeForALayerOrTransferAndNothingOutsideOfTheSteps) {
  constexpr int kTraced = 2;
  const TickingClock clock;
  Telemetry telemetry(clock);
  Trace trace({kTraced, kTraced});
  telemetry.trace_to(trace);
  const Scope exchange(telemetry, Subsystem::kExchange);  // its begin and end read the clock anyway
  const double one_s = measured_scope_cost_s(clock);
  ASSERT_GT(one_s, 0.0);
  for (int step = 1; step <= kTraced + 1; ++step) {
    const auto cost_s = [&] { return telemetry.to_json()["scope_cost_s"].get<double>(); };
    telemetry.begin_step();
    const double before_s = cost_s();
    const std::int64_t before = clock.readings;
    telemetry.enter_layer("conv", nullptr);
    telemetry.leave_layer();
    telemetry.end_exchange(telemetry.begin_exchange("ids", 1));
    EXPECT_EQ(clock.readings - before, step == kTraced ? 4 : 0) << step;
    EXPECT_NEAR(cost_s() - before_s, step == kTraced ? 2 * one_s : 0.0, 1e-15) << step;
    telemetry.end_step();
  }
}

TEST(TraceCost, IsThatOfScopesThatAreRecorded) {
  constexpr int kLayers = 1000, kTries = 5;
  const base::SystemClock clock;
  Telemetry telemetry(clock);
  Trace trace({1, 1});
  telemetry.trace_to(trace);
  telemetry.begin_step();
  for (int i = 0; i < kLayers; ++i) {
    telemetry.enter_layer("conv", nullptr);
    telemetry.leave_layer();
  }
  telemetry.end_step();
  double scope_s = measured_scope_cost_s(clock, telemetry::Traced::kYes);
  for (int i = 1; i < kTries; ++i) {
    scope_s = std::min(scope_s, measured_scope_cost_s(clock, telemetry::Traced::kYes));
  }
  const nlohmann::json account = telemetry.to_json();
  EXPECT_EQ(account["scopes"], kLayers);
  EXPECT_GT(account["scope_cost_s"].get<double>(), 0.7 * kLayers * scope_s);
}

TEST(BoundedTrace, DropsAndCountsWhatIsTooMuchAndStillSumsUp) {
  constexpr int kScopes = 10, kLayers = 3, kMost = 4;
  Trace trace({1, 1}, kMost);
  trace.begin_step(1, 0);
  std::int64_t now = 0;
  for (int i = 0; i < kScopes; ++i) {
    const TracedTransfer ids = trace.begin_transfer("ids", 2, now);
    trace.enter("exchange", true, now);
    for (int layer = 0; layer < kLayers; ++layer) {
      trace.enter_layer("conv", nullptr, now);
      trace.leave(++now);
    }
    trace.leave(++now);
    trace.end_transfer(ids, now);
  }
  trace.end_step(now);
  EXPECT_EQ(trace.events().size(), 2U * kMost);
  EXPECT_EQ(trace.dropped(), 1 + 2 * kScopes - kMost);
  EXPECT_EQ(trace.dropped_layers(), kScopes * kLayers - kMost);
  EXPECT_EQ(trace.transfers()[0].count, kScopes);
  EXPECT_EQ(trace.transfers()[0].in_flight_ns, now);
  EXPECT_EQ(trace.transfers()[0].exposed_ns, now);
}

}  // namespace
}  // namespace telemetry

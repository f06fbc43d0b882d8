// Two hosts with a slow link: both ranks' exchange grows to the time that the link's rate implies.
// Two hosts whose link stalls for some seconds: the run goes on as if it had not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "job.h"
#include "runner/base/input_file.h"

namespace {

using delays::Ended;
using delays::Job;
using delays::kTrained;
using telemetry::Counter;
using telemetry::Subsystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A short training with few, large exchanges.
Ended run_between_hosts(const std::string& rate) {
  Job job;
  job.set("/epochs", 2);
  job.set("/evaluation/every_epochs", 2);
  job.launch_by(fmt::format("{} 2 {}", HOSTS, rate), outside::on_hosts(2));
  return job.run();
}

void expect_time_in_exchange_on_both_sides() {
  const Ended fast = run_between_hosts("unlimited");
  ASSERT_THAT(fast.status, kTrained) << fast.err;
  // Each of two ranks sends all of its bytes over the link: at this rate, that takes delay_s.
  const auto sent = static_cast<double>(fast.count(0, Counter::kBytesSent));
  const double delay_s = fast.large_delay_s(), noise_s = fast.noise_s();
  const double bytes_per_s = sent / delay_s;
  const Ended slow = run_between_hosts(fmt::format("{:.0f}bit", 8.0 * bytes_per_s));
  ASSERT_THAT(slow.status, kTrained) << slow.err;
  EXPECT_EQ(slow.telemetry.ranks.at(0).identity.host, "host1");
  EXPECT_EQ(slow.telemetry.ranks.at(1).identity.host, "host2");
  for (const int rank : {0, 1}) {
    const auto total_s = [rank](const Ended& run) {
      return static_cast<double>(run.count(rank, Counter::kExchangeTotalNs)) * 1e-9;
    };
    EXPECT_GT(total_s(slow), 0.9 * delay_s) << "rank " << rank;
    // The two directions may run one after the other, and TCP headers add to the bytes.
    EXPECT_LT(total_s(slow), 2.2 * delay_s + total_s(fast) + noise_s) << "rank " << rank;
    const double more_s =
        slow.seconds(rank, Subsystem::kExchange) - fast.seconds(rank, Subsystem::kExchange);
    EXPECT_GT(more_s, 0.5 * delay_s) << "rank " << rank;
    EXPECT_NEAR(slow.work_s(rank), fast.work_s(rank), 2.0 * noise_s) << "rank " << rank;
  }
  EXPECT_EQ(slow.straggler_in("training"), nullptr) << slow.text;
  ASSERT_TRUE(slow.run.telemetry->waiting.slow_exchange) << slow.text;
  const analysis::SlowExchange& exchange = *slow.run.telemetry->waiting.slow_exchange;
  EXPECT_THAT(exchange.hosts, ElementsAre("host1", "host2"));
  EXPECT_GT(exchange.bytes_per_s, 0.3 * bytes_per_s);
  EXPECT_LT(exchange.bytes_per_s, 1.1 * bytes_per_s);
  EXPECT_THAT(slow.text, HasSubstr("between 2 nodes (host1, host2)"));
}

void expect_a_stalled_link_to_be_waited_for() {
  constexpr double kStalled_s = 5.0;
  Job job;
  job.set("/checkpoint", {{"every_steps", 5}, {"keep_last", 9}});
  job.launch_by(fmt::format("{} 2 400mbit", HOSTS), outside::on_hosts(2));
  const Ended usual = job.run();
  ASSERT_THAT(usual.status, kTrained) << usual.err;
  std::string problem;
  const auto weights = base::read_text(job.weights_path().string(), problem);
  ASSERT_TRUE(weights) << problem;
  const auto after_5_steps =
      job.log_path().parent_path() / "result_1.checkpoints/checkpoint_0001_step_5.h5";
  job.launch_by(fmt::format("STALL={}:{} {} 2 400mbit", kStalled_s, after_5_steps.string(), HOSTS),
                outside::on_hosts(2));
  const Ended stalled = job.run();
  ASSERT_THAT(stalled.status, kTrained) << stalled.err;
  EXPECT_EQ(base::read_text(job.weights_path().string(), problem), weights) << "the same bits";
  for (const int rank : {0, 1}) {
    // TCP tries again after 0.2, 0.4, ... 3.2 s, so it may notice the link's return that much
    // later.
    const double more_s =
        stalled.seconds(rank, Subsystem::kExchange) - usual.seconds(rank, Subsystem::kExchange);
    EXPECT_GT(more_s, 0.6 * kStalled_s) << "rank " << rank;
    EXPECT_LT(more_s, 3.0 * kStalled_s) << "rank " << rank;
  }
}

TEST(StalledLink, IsWaitedForAndChangesNoBit) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  delays::expect_in_one_of_three(expect_a_stalled_link_to_be_waited_for);
}

TEST(SlowLink, TakesItsTimeInExchangeOnBothSides) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  delays::expect_in_one_of_three(expect_time_in_exchange_on_both_sides);
}

}  // namespace

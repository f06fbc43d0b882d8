// One rank that computes slowly, or that is stopped now and then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "job.h"
#include "launch.h"

namespace {

namespace fs = std::filesystem;
using delays::Ended;
using delays::Job;
using delays::kTrained;
using outside::content;
using telemetry::Subsystem;
using testing::AnyOf;
using testing::HasSubstr;
using Milliseconds = std::chrono::milliseconds;

void expect_slow_forward_and_backward() {
  // Primitives in 20 steps, without layout conversions; convolutions computed as matrix products
  // use none.
  constexpr double kPrimitives = 20 * 85;
  Job job;
  const Ended usual = job.run();
  ASSERT_THAT(usual.status, kTrained) << usual.err;
  const double delay_s = usual.large_delay_s(), noise_s = usual.noise_s();
  job.delay("DELAY_RANK", "1");
  job.delay("DELAY_COMPUTE", std::to_string(std::lround(1e6 * delay_s / kPrimitives)));
  const Ended ended = job.run();
  ASSERT_THAT(ended.status, kTrained) << ended.err;
  const double computing_s = job.injected()["compute"];
  ASSERT_GE(computing_s, 0.8 * delay_s);
  const auto more = [&](Subsystem part) { return ended.seconds(1, part) - ended.seconds(0, part); };
  const double judging_s = ended.within_s(1, Subsystem::kEvaluation, Subsystem::kForward) -
                           ended.within_s(0, Subsystem::kEvaluation, Subsystem::kForward);
  const double training_s = more(Subsystem::kForward) + more(Subsystem::kBackward);
  EXPECT_GT(more(Subsystem::kForward), 0.1 * computing_s);
  EXPECT_GT(more(Subsystem::kBackward), 0.3 * computing_s);
  EXPECT_NEAR(training_s + judging_s, computing_s, 0.1 * computing_s + noise_s);
  EXPECT_NEAR(-more(Subsystem::kExchange), training_s, 2.0 * noise_s);
  EXPECT_NEAR(more(Subsystem::kInput), 0.0, 2.0 * noise_s);
  const analysis::Straggler* late = ended.straggler_in("training");
  ASSERT_NE(late, nullptr) << ended.text;
  EXPECT_EQ(late->rank, 1);
  EXPECT_THAT(late->where.at(0).first, AnyOf("forward", "backward"));
  EXPECT_THAT(ended.text, HasSubstr(sentence(*late)));
}

TEST(SlowRank, IsSlowInForwardAndBackwardAndTheOthersWait) {
  delays::expect_in_one_of_three(expect_slow_forward_and_backward);
}

/// Stops the process repeatedly while the job runs; returns the total time stopped.
double stop_now_and_then(pid_t process, const std::future<Ended>& job) {
  constexpr Milliseconds kStopped(150), kRunning(50);
  double stopped_s = 0.0;
  while (job.wait_for(kRunning) != std::future_status::ready) {
    const auto began = std::chrono::steady_clock::now();
    if (kill(process, SIGSTOP) != 0) break;
    std::this_thread::sleep_for(kStopped);
    kill(process, SIGCONT);
    stopped_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  return stopped_s;
}

void expect_stopped_rank_named() {
  Job job;
  job.set("/epochs", 12);
  job.set("/evaluation/every_epochs", 12);
  std::future<Ended> running = std::async(std::launch::async, [&job] { return job.run(); });
  while (content(job.log_path()).find("block_start") == std::string::npos) {
    ASSERT_NE(running.wait_for(Milliseconds(10)), std::future_status::ready);
  }
  const pid_t process = outside::process_of(1, job.folder());
  ASSERT_GT(process, 0);
  const double stopped_s = stop_now_and_then(process, running);
  const Ended ended = running.get();
  ASSERT_THAT(ended.status, kTrained) << ended.err;
  ASSERT_GT(stopped_s, 1.5) << "the job was over too early";
  // Stops while the rank itself was in exchange delayed both ranks there.
  const double longer_s = ended.work_s(1) - ended.work_s(0);
  EXPECT_GT(longer_s, 0.3 * stopped_s);
  EXPECT_LT(longer_s, 1.3 * stopped_s);
  const analysis::Straggler* late = ended.straggler_in("training");
  ASSERT_NE(late, nullptr) << ended.text;
  EXPECT_EQ(late->rank, 1);
}

TEST(SlowRank, ThatIsStoppedNowAndThenIsNamed) {
  delays::expect_in_one_of_three(expect_stopped_rank_named);
}

}  // namespace

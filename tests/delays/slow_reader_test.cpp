// One rank whose files are slow to read: its input and the others' exchange grow, nothing else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "job.h"

namespace {

using delays::Ended;
using delays::Job;
using delays::kTrained;
using telemetry::Subsystem;
using testing::HasSubstr;

std::int64_t milliseconds_each(double seconds, int reads) {
  return static_cast<std::int64_t>(std::ceil(1000.0 * seconds / reads));
}

void expect_waiting_in_input() {
  constexpr int kTrainingReads = 240;  // half of the 24 images of 20 steps
  constexpr int kJudgingReads = 20;    // half of 40
  Job job;
  const Ended usual = job.run();
  ASSERT_THAT(usual.status, kTrained) << usual.err;
  const double delay_s = usual.large_delay_s(), noise_s = usual.noise_s();
  job.delay("DELAY_RANK", "1");
  job.delay("DELAY_READS",
            fmt::format("/train/:{},/validation/:{}", milliseconds_each(delay_s, kTrainingReads),
                        milliseconds_each(0.5 * delay_s, kJudgingReads)));
  const Ended ended = job.run();
  ASSERT_THAT(ended.status, kTrained) << ended.err;
  auto injected = job.injected();
  const double reading_s = injected["/train/"], judging_s = injected["/validation/"];
  ASSERT_GE(reading_s, delay_s);
  ASSERT_GE(judging_s, 0.5 * delay_s);

  // Reads overlap with the rank's work and waiting: that much of the delay may be hidden.
  const double input_s = ended.seconds(1, Subsystem::kInput);
  const double hidden_s = ended.work_s(1) - input_s + ended.seconds(1, Subsystem::kExchange);
  EXPECT_GE(input_s, reading_s - hidden_s - noise_s);
  EXPECT_GE(input_s, 0.2 * reading_s);
  EXPECT_LE(input_s, reading_s + usual.seconds(1, Subsystem::kInput) + noise_s);
  const double more_input_s = input_s - ended.seconds(0, Subsystem::kInput);
  const double more_exchange_s =
      ended.seconds(0, Subsystem::kExchange) - ended.seconds(1, Subsystem::kExchange);
  EXPECT_NEAR(more_exchange_s, more_input_s, 2.0 * noise_s);
  for (const Subsystem other : {Subsystem::kForward, Subsystem::kBackward, Subsystem::kOptimizer,
                                Subsystem::kOther, Subsystem::kStaging}) {
    EXPECT_NEAR(ended.seconds(1, other), ended.seconds(0, other), 2.0 * noise_s)
        << to_string(other);
  }

  // Evaluation takes the same time on both ranks; its inner scopes show who read and who waited.
  const Subsystem evaluation = Subsystem::kEvaluation;
  EXPECT_NEAR(ended.seconds(1, evaluation), ended.seconds(0, evaluation), noise_s);
  EXPECT_GE(ended.within_s(1, evaluation, Subsystem::kInput), 0.5 * judging_s);
  EXPECT_GE(ended.within_s(0, evaluation, Subsystem::kExchange), 0.5 * judging_s);
  EXPECT_LE(ended.within_s(0, evaluation, Subsystem::kInput), 0.25 * judging_s);

  for (const char* phase : {"training", "evaluation"}) {
    const analysis::Straggler* late = ended.straggler_in(phase);
    ASSERT_NE(late, nullptr) << phase << '\n' << ended.text;
    EXPECT_EQ(late->rank, 1);
    EXPECT_EQ(late->where.at(0).first, "input");
    EXPECT_THAT(ended.text, HasSubstr(sentence(*late)));
  }
}

TEST(SlowReader, WaitsInInputAndTheOthersInExchange) {
  delays::expect_in_one_of_three(expect_waiting_in_input);
}

void expect_waiting_in_staging() {
  constexpr double kDelay_s = 2.5;
  constexpr int kReads = 75;  // about half of all images, in whole packs
  Job job;
  job.set("/staging/mode", "shard");
  job.set("/staging/readers", 1);  // so that delays add up
  job.set("/epochs", 1);
  job.set("/evaluation/every_epochs", 1);
  job.delay("DELAY_RANK", "1");
  job.delay("DELAY_READS", fmt::format("/data/:{}", milliseconds_each(kDelay_s, kReads)));
  const Ended ended = job.run();
  ASSERT_THAT(ended.status, kTrained) << ended.err;
  const double copying_s = job.injected()["/data/"];
  ASSERT_GE(copying_s, kDelay_s);
  EXPECT_NEAR(ended.seconds(1, Subsystem::kStaging), ended.seconds(0, Subsystem::kStaging),
              0.25 * copying_s);
  EXPECT_GE(ended.seconds(1, Subsystem::kStaging), copying_s);
  EXPECT_GE(ended.within_s(0, Subsystem::kStaging, Subsystem::kExchange), 0.5 * copying_s);
  EXPECT_LE(ended.seconds(1, Subsystem::kInput), 0.25 * copying_s);
  const analysis::Straggler* late = ended.straggler_in("staging");
  ASSERT_NE(late, nullptr) << ended.text;
  EXPECT_EQ(late->rank, 1);
  EXPECT_EQ(late->where.at(0).first, "staging");
}

TEST(SlowReader, OfStagingIsWaitedForInStaging) {
  delays::expect_in_one_of_three(expect_waiting_in_staging);
}

}  // namespace

// Tests of runs that signals stop: what is saved, and how they go on.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "toy_training.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;

/// Epochs of ten steps with `per_epoch` evaluations; a signal comes during step `steps`.
class StoppedRun : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(StoppedRun, IsSavedAndEndsWithTheSameBits) {
  const auto [per_epoch, steps] = GetParam();
  const json evaluation = {{"per_epoch", per_epoch}};
  ToyTraining plain(json{{"evaluation", evaluation}});
  const RunOutcome undisturbed = plain.run();
  // The schedule makes the run check for signals after that step.
  ToyTraining bench(json{{"evaluation", evaluation}, {"checkpoint", {{"every_steps", steps}}}});
  bench.script.at_step = [&, last = steps](std::int64_t step) {
    const bool mine = bench.world.rank() == bench.world.size() - 1;
    bench.stop = mine && step == last ? StopSignal::kTerminate : bench.stop;
  };
  const RunOutcome stopped = bench.run();
  EXPECT_EQ(stopped.status, RunStatus::kStopped);
  EXPECT_EQ(stopped.reason, "stopped by SIGTERM after step " + std::to_string(steps));
  ASSERT_THAT(bench.saved_steps(), ElementsAre(steps));
  if (bench.world.rank() == 0) {
    const auto& records = bench.lines.records;
    EXPECT_EQ(records.back()["key"], "run_stop");
    EXPECT_EQ(records[records.size() - 2]["metadata"]["step"], steps);
  }

  bench.stop = StopSignal::kNone;
  bench.script.at_step = nullptr;
  const ResumePoint point = bench.open();
  const RunOutcome resumed = bench.run(&point);
  EXPECT_EQ(bench.values, plain.values);
  EXPECT_EQ(evaluations_text(resumed), evaluations_text(undisturbed));
  EXPECT_EQ(resumed.epochs, 8);
  for (const json& record : bench.lines.records) {
    if (record["key"] == "block_start") {
      EXPECT_GT(record["metadata"]["epoch_count"], 0.0) << record;
    }
    const bool is_rate = record["key"] == "learning_rate" || record["key"] == "throughput";
    if (is_rate) {
      EXPECT_GT(record["value"], 0.0) << record;
    }
  }
}

// Within an epoch, within its last part, before an evaluation, and after a part without one.
INSTANTIATE_TEST_SUITE_P(Evaluations, StoppedRun,
                         testing::Combine(testing::Values(1, 3, 5),
                                          testing::Values(4, 6, 10, 19, 80)));

/// Records of blocks, epochs and evaluations with their numbers.
std::vector<std::string> intervals_of(const ToyTraining& from) {
  std::vector<std::string> all;
  for (const json& record : from.lines.records) {
    const std::string key = record["key"];
    json metadata = record["metadata"];
    const bool is_of_an_interval = key.starts_with("block_") || key.starts_with("epoch_") ||
                                   (key.starts_with("eval_") && metadata.contains("epoch_num"));
    if (!is_of_an_interval) continue;
    metadata.erase("file");
    metadata.erase("lineno");
    all.push_back(key + metadata.dump());
  }
  return all;
}

/// Epochs of ten steps with five evaluations; a signal comes during step `steps`, after which one
/// is due.
class StoppedBeforeEvaluation : public testing::TestWithParam<std::int64_t> {};

TEST_P(StoppedBeforeEvaluation, GoesOnWithItOutsideABlock) {
  const std::int64_t steps = GetParam();
  const json evaluation = {{"per_epoch", 5}};
  ToyTraining plain(json{{"evaluation", evaluation}});
  plain.run();
  ToyTraining bench(json{{"evaluation", evaluation}, {"checkpoint", {{"every_steps", steps}}}});
  bench.script.at_step = [&](std::int64_t step) {
    if (step == steps) bench.stop = StopSignal::kTerminate;
  };
  ASSERT_EQ(bench.run().status, RunStatus::kStopped);
  bench.stop = StopSignal::kNone;
  bench.script.at_step = nullptr;
  const ResumePoint point = bench.open();
  bench.run(&point);
  EXPECT_EQ(bench.values, plain.values);
  if (bench.world.rank() != 0) return;
  // The records of the whole run from this evaluation on, without the end of the block before it.
  const std::vector<std::string> all = intervals_of(plain), resumed = intervals_of(bench);
  constexpr std::size_t kBlock = 5;  // start, three records of an evaluation, stop
  const auto due = all.begin() + 1 + static_cast<std::ptrdiff_t>(steps / 2 * kBlock - kBlock + 1);
  std::vector<std::string> expected = {all.front()};
  expected.insert(expected.end(), due, due + 3);
  EXPECT_THAT(*(due + 3), testing::StartsWith("block_stop"));
  expected.insert(expected.end(), due + 4, all.end());
  EXPECT_EQ(resumed, expected);
}

// Within the first epoch, and at its end.
INSTANTIATE_TEST_SUITE_P(Steps, StoppedBeforeEvaluation, testing::Values(4, 10));

TEST(Resume, SavesAStoppedRunWithoutScheduleWhereTheSignalAsksForIt) {
  for (const auto& [signal, saved] :
       {std::pair{StopSignal::kSaveAndEnd, 1U}, std::pair{StopSignal::kTerminate, 0U}}) {
    ToyTraining bench;
    bench.script.at_step = [&, asked = signal](std::int64_t step) {
      if (step == 13) bench.stop = asked;
    };
    EXPECT_EQ(bench.run().status, RunStatus::kStopped);
    EXPECT_EQ(bench.saved_steps().size(), saved) << to_string(signal);
  }
}

TEST(Resume, SavesNothingWhereNothingWasTrained) {
  ToyTraining bench(json{{"checkpoint", {{"every_steps", 30}, {"keep_last", 9}}}});
  bench.stop = StopSignal::kSaveAndEnd;
  bench.run();
  EXPECT_TRUE(bench.saved_steps().empty());
  bench.stop = StopSignal::kNone;
  bench.run();
  const ResumePoint point = bench.open();
  bench.stop = StopSignal::kSaveAndEnd;
  EXPECT_EQ(bench.run(&point).status, RunStatus::kStopped);
  EXPECT_THAT(bench.saved_steps(), ElementsAre(30, 60));
}

TEST(Resume, SavesWhenOneRankAsksForItOnce) {
  ToyTraining bench;
  bool asked = false;
  bench.script.at_step = [&](std::int64_t step) {
    if (step == 13 && bench.world.rank() == bench.world.size() - 1) asked = true;
  };
  bench.requested = [&asked] { return std::exchange(asked, false); };
  bench.run();
  EXPECT_EQ(bench.saved_steps().size(), 1U);
}

}  // namespace
}  // namespace runner

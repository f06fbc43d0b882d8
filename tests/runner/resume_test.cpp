// Tests of saving and resuming within the run loop: when, what is logged, and the same values
// again.
#include "runner/resume.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "runner/agreed_error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/thrown_message.h"
#include "runner/checkpoint_folder.h"
#include "runner/run_loop.h"
#include "shared_directory.h"
#include "staging/checkpoint_file.h"
#include "toy_workload.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class LineSink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override {
    records.push_back(json::parse(line.substr(std::string(":::MLLOG ").size())));
  }
  std::vector<json> records;
};

/// A run of the toy: eight epochs of ten steps, saved into a folder that all ranks see.
struct Bench {
  explicit Bench(const json& overrides = json::object()) {
    json object = {{"workload", "toy"}, {"epochs", 8}, {"seed", 7}, {"target", {{"quality", 2.0}}}};
    object.update(overrides);
    config.emplace(parse_run_config(base::ObjectReader(object, "toy.json"), "toy.json"));
  }

  RunOutcome run(const ResumePoint* resume = nullptr) {
    telemetry::Telemetry telemetry(clock);
    lines.records.clear();
    mllog::LogWriter log(world.rank() == 0 ? &lines : nullptr, clock);
    const Surroundings around{world, topology, telemetry, 1};
    ToyWorkload workload(around, config->seed, script);
    Checkpointer checkpointer(config->checkpoint, folder.path() + "/saved",
                              config->reader.resolved(), {{"ranks", world.size()}}, doors);
    const RunDoors run_doors{world,
                             topology,
                             telemetry,
                             log,
                             {world.rank(), "here", 0, 1},
                             console,
                             [this] { return stop; },
                             &checkpointer,
                             resume};
    const RunOutcome outcome = run_once(*config, workload, {false, "a test"}, run_doors);
    values = workload.values();
    return outcome;
  }
  ResumePoint open() {
    world.barrier();
    return open_resume_point(resume_candidates(folder.path() + "/saved"), format, world, console);
  }
  std::vector<std::int64_t> saved_steps() const {
    world.barrier();
    std::vector<std::int64_t> steps;
    for (const auto& file : list_checkpoints(folder.path() + "/saved")) steps.push_back(file.steps);
    world.barrier();
    return steps;
  }
  std::vector<std::int64_t> epochs_of(const std::string& key) const {
    std::vector<std::int64_t> epochs;
    for (const json& record : lines.records) {
      if (record["key"] == key) epochs.push_back(record["metadata"].value("epoch_num", -1));
    }
    return epochs;
  }

  base::SystemClock clock;
  Communicator world = Communicator::world();
  Topology topology = discover_topology(world);
  SharedDirectory folder{world};
  std::ostringstream told;
  Console console{told, world.rank() == 0 ? Console::Style::kLines : Console::Style::kSilent,
                  clock};
  CheckpointFormat format = staging::checkpoint_format();
  std::function<bool()> requested = [] { return false; };
  CheckpointDoors doors{world, clock, console, format, [this] { return requested(); }};
  LineSink lines;
  ToyScript script;
  StopSignal stop = StopSignal::kNone;
  std::optional<RunConfig> config;
  std::pair<double, double> values;
};

std::string evaluations_text(const RunOutcome& outcome) {
  std::string text;
  for (const EvaluationPoint& one : outcome.evaluations) {
    text += std::to_string(one.epoch_num) + ":" + std::to_string(one.quality) + " ";
  }
  return text;
}

TEST(Resume, GoesOnInTheMiddleOfAnEpochAsIfNothingHadHappened) {
  Bench plain;
  const RunOutcome undisturbed = plain.run();
  Bench bench(json{{"checkpoint", {{"every_steps", 37}, {"keep_last", 1}}}});
  EXPECT_EQ(bench.run().evaluations.size(), 8U);
  EXPECT_EQ(bench.values, plain.values);  // saving changed nothing
  EXPECT_THAT(bench.saved_steps(), ElementsAre(74));

  const ResumePoint point = bench.open();
  EXPECT_EQ(point.record.position.epoch_num, 8);
  EXPECT_EQ(point.record.position.steps_in_epoch, 4);
  EXPECT_EQ(point.record.position.samples, 16);
  const RunOutcome resumed = bench.run(&point);
  EXPECT_EQ(bench.values, plain.values);
  EXPECT_EQ(resumed.epochs, 8);
  EXPECT_EQ(evaluations_text(resumed), evaluations_text(undisturbed));
  EXPECT_GT(resumed.earlier_s, 0.0);
  EXPECT_GE(resumed.evaluations.back().since_run_start_s, resumed.earlier_s);
  if (bench.world.rank() != 0) return;
  EXPECT_THAT(bench.epochs_of("resumed"), ElementsAre(8));
  EXPECT_THAT(bench.epochs_of("epoch_start"), ElementsAre(8));
  EXPECT_THAT(bench.epochs_of("eval_accuracy"), ElementsAre(8));
  // The epoch's loss includes its steps before the checkpoint.
  const auto loss = [](const Bench& from) {
    double last = 0.0;
    for (const json& record : from.lines.records) {
      if (record["key"] == "train_loss") last = record["value"];
    }
    return last;
  };
  EXPECT_EQ(loss(bench), loss(plain));
}

TEST(Resume, GoesOnBehindAnEvaluationWithoutRepeatingIt) {
  Bench bench(json{{"checkpoint", {{"every_steps", 30}}},
                   {"evaluation", {{"every_epochs", 3}, {"offset_epochs", 3}}}});
  bench.run();
  EXPECT_THAT(bench.saved_steps(), ElementsAre(30, 60));
  const ResumePoint point = bench.open();
  EXPECT_EQ(point.record.position.epoch_num, 7);
  EXPECT_EQ(point.record.position.steps_in_epoch, 0);
  EXPECT_EQ(point.record.position.evaluations.size(), 2U);
  bench.run(&point);
  if (bench.world.rank() != 0) return;
  EXPECT_THAT(bench.epochs_of("epoch_start"), ElementsAre(7, 8));
  EXPECT_TRUE(bench.epochs_of("eval_accuracy").empty());
}

/// Epochs of ten steps, evaluated after the third, sixth and ninth.
class CutEpochs : public testing::TestWithParam<std::int64_t> {
 protected:
  static json saved_at(std::int64_t steps) {
    return {{"evaluation", {{"per_epoch", 3}}},
            {"checkpoint", {{"every_steps", steps}, {"keep_last", 1}}}};
  }
  /// Metadata and value of each record of a key.
  static std::vector<std::string> told(const Bench& from, const std::string& key) {
    std::vector<std::string> all;
    for (const json& record : from.lines.records) {
      if (record["key"] != key) continue;
      json metadata = record["metadata"];
      metadata.erase("lineno");
      all.push_back(metadata.dump() + record["value"].dump());
    }
    return all;
  }
  static std::vector<std::string> last_of(const std::vector<std::string>& all, std::size_t count) {
    EXPECT_LE(count, all.size());
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
  }
};

TEST_P(CutEpochs, GoOnWithTheSameEvaluations) {
  Bench plain(json{{"evaluation", {{"per_epoch", 3}}}}), bench(saved_at(GetParam()));
  const RunOutcome undisturbed = plain.run();
  ASSERT_EQ(undisturbed.evaluations.size(), 8U * 3U);
  EXPECT_EQ(evaluations_text(bench.run()), evaluations_text(undisturbed));
  EXPECT_EQ(bench.values, plain.values);  // saving changed nothing
  ASSERT_THAT(bench.saved_steps(), ElementsAre(GetParam()));

  const ResumePoint point = bench.open();
  const std::int64_t steps = GetParam();
  EXPECT_EQ(point.record.position.epoch_num, 1 + steps / 10);
  EXPECT_EQ(point.record.position.steps_in_epoch, steps % 10);
  // Evaluations of completed epochs, and of this one.
  const std::int64_t before = steps / 10 * 3 + steps % 10 / 3;
  EXPECT_EQ(point.record.position.evaluations.size(), static_cast<std::size_t>(before));
  const RunOutcome resumed = bench.run(&point);
  EXPECT_EQ(bench.values, plain.values);
  EXPECT_EQ(resumed.epochs, 8);
  EXPECT_EQ(evaluations_text(resumed), evaluations_text(undisturbed));
  if (bench.world.rank() != 0) return;
  const auto later = static_cast<std::size_t>(24 - before);
  for (const char* key : {"eval_start", "eval_stop", "eval_accuracy"}) {
    EXPECT_EQ(told(bench, key), last_of(told(plain, key), later)) << key;
  }
  // Only the current block begins elsewhere.
  const auto blocks = told(bench, "block_start"), all_blocks = told(plain, "block_start");
  if (steps == 80) {
    EXPECT_TRUE(blocks.empty());
    return;
  }
  ASSERT_FALSE(blocks.empty());
  EXPECT_EQ(last_of(blocks, blocks.size() - 1), last_of(all_blocks, blocks.size() - 1));
  EXPECT_EQ(told(bench, "block_stop").size(), blocks.size());
  const json first = json::parse(blocks.front().substr(0, blocks.front().rfind('}') + 1));
  EXPECT_DOUBLE_EQ(first["first_epoch_num"], 1.0 + static_cast<double>(steps) / 10.0);
}

// In the first part of an epoch, at its end, within the second, at the last evaluation, and at the
// end of an epoch, where there is no evaluation.
INSTANTIATE_TEST_SUITE_P(Steps, CutEpochs, testing::Values(71, 73, 74, 76, 79, 70, 80));

TEST(Resume, CountsWhatWasTrainedWhereItStopsAtOnce) {
  struct Case {
    std::int64_t per_epoch, steps;
    double epochs;
  };
  for (const auto& [per_epoch, steps, epochs] :
       {Case{1, 4, 0.0}, Case{1, 74, 7.0}, Case{3, 2, 0.0}, Case{3, 74, 7.3}, Case{3, 76, 7.6},
        Case{3, 70, 7.0}}) {
    Bench bench(json{{"evaluation", {{"per_epoch", per_epoch}}},
                     {"checkpoint", {{"every_steps", steps}, {"keep_last", 99}}}});
    bench.run();
    const ResumePoint point =
        open_resume_point({list_checkpoints(bench.folder.path() + "/saved").front().path},
                          bench.format, bench.world, bench.console);
    bench.stop = StopSignal::kTerminate;
    const RunOutcome resumed = bench.run(&point);
    EXPECT_EQ(resumed.status, RunStatus::kStopped);
    EXPECT_DOUBLE_EQ(resumed.epochs, epochs) << steps << " steps, " << per_epoch;
    bench.world.barrier();
  }
}

/// Epochs of ten steps with `per_epoch` evaluations; a signal comes during step `steps`.
class StoppedRun : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(StoppedRun, IsSavedAndEndsWithTheSameBits) {
  const auto [per_epoch, steps] = GetParam();
  const json evaluation = {{"per_epoch", per_epoch}};
  Bench plain(json{{"evaluation", evaluation}});
  const RunOutcome undisturbed = plain.run();
  // The schedule makes the run check for signals after that step.
  Bench bench(json{{"evaluation", evaluation}, {"checkpoint", {{"every_steps", steps}}}});
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
std::vector<std::string> intervals_of(const Bench& from) {
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
  Bench plain(json{{"evaluation", evaluation}});
  plain.run();
  Bench bench(json{{"evaluation", evaluation}, {"checkpoint", {{"every_steps", steps}}}});
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
    Bench bench;
    bench.script.at_step = [&, asked = signal](std::int64_t step) {
      if (step == 13) bench.stop = asked;
    };
    EXPECT_EQ(bench.run().status, RunStatus::kStopped);
    EXPECT_EQ(bench.saved_steps().size(), saved) << to_string(signal);
  }
}

TEST(Resume, SavesNothingWhereNothingWasTrained) {
  Bench bench(json{{"checkpoint", {{"every_steps", 30}, {"keep_last", 9}}}});
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
  Bench bench;
  bool asked = false;
  bench.script.at_step = [&](std::int64_t step) {
    if (step == 13 && bench.world.rank() == bench.world.size() - 1) asked = true;
  };
  bench.requested = [&asked] { return std::exchange(asked, false); };
  bench.run();
  EXPECT_EQ(bench.saved_steps().size(), 1U);
}

TEST(Resume, EndsAtOnceWhenNoEpochIsLeft) {
  Bench bench(json{{"checkpoint", {{"every_steps", 80}}}});
  bench.run();
  const ResumePoint point = bench.open();
  const RunOutcome resumed = bench.run(&point);
  EXPECT_EQ(resumed.status, RunStatus::kTargetMissed);
  EXPECT_EQ(resumed.epochs, 8);
  EXPECT_EQ(resumed.evaluations.size(), 8U);
  // A target lowered in the meantime may already be met.
  bench.config->target_quality = 0.7;
  EXPECT_EQ(bench.run(&point).status, RunStatus::kSuccess);
}

/// As the previous version saved it.
TEST(Resume, TakesACheckpointThatHasAKeyUnderItsOldName) {
  Bench bench;
  const json before = {{"seed", 7}, {"training", {{"bn_group_size", 4}}}};
  const CheckpointRecord record{{}, before, json::object(), json::object()};
  const std::string path = bench.folder.path() + "/before.h5";
  staging::write_checkpoint(bench.world, path, to_text(record), {});
  const ResumePoint point = open_resume_point({path}, bench.format, bench.world, bench.console);
  json now = {{"seed", 7}, {"training", {{"bn_group_samples", 4}}}};
  EXPECT_NO_THROW(require_same_config(point, now, {}));
  now["training"]["bn_group_samples"] = 2;
  EXPECT_THAT(base::thrown_message<AgreedError>([&] { require_same_config(point, now, {}); }),
              HasSubstr("another configuration: /training/bn_group_samples: expected 4, found 2"));
}

TEST(Resume, RefusesOtherData) {
  Bench bench(json{{"checkpoint", {{"every_steps", 35}}}});
  bench.run();
  ResumePoint point = bench.open();
  point.record.data["train_samples"] = 41;
  EXPECT_THAT(base::thrown_message<AgreedError>([&] { bench.run(&point); }),
              HasSubstr("saved with other data: /train_samples: expected 41, found 40"));
  point.record.data["train_samples"] = 40;
  point.record.position.steps_done = 71;
  EXPECT_THAT(base::thrown_message<AgreedError>([&] { bench.run(&point); }),
              HasSubstr("expected step 0 of epoch 8 to be step 70 of the run, found 71"));
}

TEST(Checkpointer, AsksByMinutesOnTheClockOfTheFirstRank) {
  base::FakeClock clock;
  Bench bench;
  const CheckpointDoors doors{bench.world, clock, bench.console, bench.format, nullptr};
  CheckpointConfig config;
  config.every_minutes = 1.5;
  Checkpointer checkpointer(config, bench.folder.path(), json::object(), json::object(), doors);
  EXPECT_FALSE(checkpointer.wanted_here());
  clock.nanoseconds += 89'000'000'000;
  EXPECT_FALSE(checkpointer.wanted_here());
  clock.nanoseconds += 1'000'000'000;
  EXPECT_EQ(checkpointer.wanted_here(), bench.world.rank() == 0);
  EXPECT_FALSE(checkpointer.is_due(70));
}

TEST(Checkpointer, IsDueEverySoManySteps) {
  Bench bench;
  CheckpointConfig config;
  config.every_steps = 7;
  const Checkpointer checkpointer(config, bench.folder.path(), json::object(), json::object(),
                                  bench.doors);
  EXPECT_EQ(checkpointer.steps_until_due(0), 7);
  EXPECT_EQ(checkpointer.steps_until_due(13), 1);
  EXPECT_EQ(checkpointer.steps_until_due(14), 7);
  EXPECT_TRUE(checkpointer.is_due(14));
  EXPECT_FALSE(checkpointer.is_due(15));
  EXPECT_FALSE(checkpointer.is_due(0));
}

TEST(EnvironmentDifferences, NameWhatDecidesTheLastBits) {
  EXPECT_THAT(environment_differences({{"ranks", 2}, {"cpu", "a"}}, {{"ranks", 3}, {"cpu", "a"}}),
              ElementsAre("ranks: 2 then, 3 now"));
  EXPECT_THAT(environment_differences(json::object(), {{"threads", 1}}),
              ElementsAre("threads: unknown then, 1 now"));
}

}  // namespace
}  // namespace runner

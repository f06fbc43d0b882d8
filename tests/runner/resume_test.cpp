// Tests of saving and resuming within the run loop: when, what is logged, and the same values
// again.
#include "runner/resume.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "runner/agreed_error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/thrown_message.h"
#include "runner/checkpoint_folder.h"
#include "staging/checkpoint_file.h"
#include "toy_training.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Resume, GoesOnInTheMiddleOfAnEpochAsIfNothingHadHappened) {
  ToyTraining plain;
  const RunOutcome undisturbed = plain.run();
  ToyTraining bench(json{{"checkpoint", {{"every_steps", 37}, {"keep_last", 1}}}});
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
  const auto loss = [](const ToyTraining& from) {
    double last = 0.0;
    for (const json& record : from.lines.records) {
      if (record["key"] == "train_loss") last = record["value"];
    }
    return last;
  };
  EXPECT_EQ(loss(bench), loss(plain));
}

TEST(Resume, GoesOnBehindAnEvaluationWithoutRepeatingIt) {
  ToyTraining bench(json{{"checkpoint", {{"every_steps", 30}}},
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
  static std::vector<std::string> told(const ToyTraining& from, const std::string& key) {
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
  ToyTraining plain(json{{"evaluation", {{"per_epoch", 3}}}}), bench(saved_at(GetParam()));
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
    ToyTraining bench(json{{"evaluation", {{"per_epoch", per_epoch}}},
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

TEST(Resume, EndsAtOnceWhenNoEpochIsLeft) {
  ToyTraining bench(json{{"checkpoint", {{"every_steps", 80}}}});
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
  ToyTraining bench;
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
  ToyTraining bench(json{{"checkpoint", {{"every_steps", 35}}}});
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
  ToyTraining bench;
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
  ToyTraining bench;
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

// Tests of the run loop with a toy workload, on as many ranks as the launcher gives.
#include <gmock/gmock.h>

#include <csignal>

#include "runner/agreed_error.h"
#include "runner/base/thrown_message.h"
#include "runner/logged_keys.h"
#include "runner/run_bench.h"
#include "runner/stop_signals.h"
#include "runner/votes.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

void append(logged_keys::Keys& keys, const logged_keys::Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
}

TEST(StepsUntilVotes, AreThoseOfASecondOrBetweenNodesAFew) {
  constexpr double kMs = 1e6;
  struct Row {
    double ns;
    std::int64_t on_a_node, between_nodes;
  };
  for (const Row& row : {Row{1.0, 1'000'000'000, 1'000'000'000}, Row{10 * kMs, 100, 100},
                         Row{200 * kMs, 5, 8}, Row{1200 * kMs, 1, 8}, Row{4000 * kMs, 1, 2},
                         Row{6600 * kMs, 1, 1}, Row{60'000 * kMs, 1, 1}}) {
    EXPECT_EQ(steps_until_votes(row.ns, false), row.on_a_node) << row.ns;
    EXPECT_EQ(steps_until_votes(row.ns, true), row.between_nodes) << row.ns;
  }
}

TEST(RunOnce, WritesTheRecordsInTheOrderOfTheRules) {
  ToyBench bench(json{{"evaluation", {{"every_epochs", 4}, {"offset_epochs", 1}}}});
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  if (bench.world.rank() != 0) {
    EXPECT_TRUE(bench.lines.lines.empty());
    return;
  }
  using logged_keys::kEpoch;
  logged_keys::Keys expected = logged_keys::kSetup;
  append(expected, {"eval_samples", "seed", "quality_target", "opt_name", "train_samples",
                    "weights_initialization", "weights_initialization"});
  append(expected, logged_keys::kStart);
  append(expected, kEpoch);
  append(expected, {"eval_start", "eval_stop", "eval_accuracy", "block_stop", "block_start"});
  for (int epoch = 2; epoch <= 5; ++epoch) append(expected, kEpoch);
  append(expected, {"eval_start", "eval_stop", "eval_accuracy", "block_stop", "run_stop"});
  EXPECT_EQ(bench.keys(), expected);
}

TEST(RunOnce, LogsItsOwnDurationWhenTheCalendarClockIsSet) {
  for (const std::int64_t set_ms : {std::int64_t{3'600'000}, std::int64_t{-3'600'000}}) {
    ToyBench bench;
    bench.script.at_step = [&](std::int64_t step) {
      if (step == 15) bench.clock.set_ms = set_ms;
    };
    const RunOutcome outcome = bench.run();
    if (bench.world.rank() != 0) continue;
    const auto time_ms = [&](const char* key) { return bench.first(key)["time_ms"].get<double>(); };
    EXPECT_NEAR(time_ms("run_stop") - time_ms("run_start"), 1000.0 * outcome.run_s, 50.0);
    EXPECT_THAT(bench.stderr_text.str(),
                HasSubstr(std::string("the calendar clock was set ") +
                          (set_ms > 0 ? "forward" : "back") + " by 3600.0 s"));
  }
}

TEST(RunOnce, GivesRecordsTheirMetadata) {
  ToyBench bench(json{{"evaluation", {{"every_epochs", 5}}}});
  bench.run();
  if (bench.world.rank() != 0) return;
  EXPECT_EQ(bench.first("block_start")["metadata"]["first_epoch_num"], 1);
  EXPECT_EQ(bench.first("block_start")["metadata"]["epoch_count"], 5);
  EXPECT_EQ(bench.first("eval_accuracy")["metadata"]["epoch_num"], 5);
  EXPECT_NEAR(bench.first("eval_accuracy")["value"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "success");
  EXPECT_EQ(bench.first("seed")["value"], 7);
  EXPECT_TRUE(bench.first("seed")["metadata"]["lineno"].is_number_integer());
  EXPECT_TRUE(bench.first("seed")["metadata"]["file"].is_string());
  EXPECT_EQ(bench.first("number_of_ranks")["value"], bench.world.size());
  EXPECT_EQ(bench.first("micro_batch_size")["value"], 4);
  EXPECT_EQ(bench.first("pipeline_parallelism")["value"], 1);
  EXPECT_EQ(bench.first("lowest_numerical_precision_in_attn")["value"], "fp32");
  EXPECT_EQ(bench.first("cache_clear")["value"], false);
  EXPECT_EQ(bench.first("cache_clear")["metadata"]["reason"], "a test");
  EXPECT_EQ(bench.first("weights_initialization")["metadata"]["tensor"], "conv0_weight");
  EXPECT_EQ(bench.first("staging_stop")["metadata"]["staging"]["bytes"], 12);
  EXPECT_EQ(bench.first("tracked_stats")["metadata"]["step"], 10);
}

TEST(RunOnce, LogsTheEndOfStagingThatGoesOnWhileItTrains) {
  ToyBench bench;
  bench.script.copies_until_step = 15;
  EXPECT_EQ(bench.run().staging["bytes"], 12);
  if (bench.world.rank() != 0) return;
  const std::vector<std::string> keys = bench.keys();
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "staging_stop"), 1);
  const auto place_of = [&](const char* key) { return std::find(keys.begin(), keys.end(), key); };
  EXPECT_LT(place_of("run_start"), place_of("staging_start"));
  EXPECT_LT(place_of("staging_start"), place_of("epoch_start"));
  EXPECT_LT(place_of("epoch_stop"), place_of("staging_stop"));
  EXPECT_EQ(bench.first("staging_stop")["metadata"]["staging"]["bytes"], 12);
}

TEST(RunOnce, EndsStagingThatIsNotDoneBeforeItStops) {
  ToyBench bench;
  bench.script.copies_until_step = 1'000'000;
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  EXPECT_EQ(outcome.staging["bytes"], 5);
  if (bench.world.rank() != 0) return;
  std::vector<std::string> last = bench.keys();
  last.erase(last.begin(), last.end() - 2);
  EXPECT_EQ(last, (std::vector<std::string>{"staging_stop", "run_stop"}));
}

TEST(RunOnce, EvaluatesWithinEpochs) {
  ToyBench bench(json{{"evaluation", {{"per_epoch", 3}}}});
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  ASSERT_FALSE(outcome.evaluations.empty());
  EXPECT_NEAR(outcome.evaluations.front().epoch_num, 0.3, 1e-12);
  EXPECT_NEAR(outcome.evaluations.at(3).epoch_num, 1.3, 1e-12);
  if (bench.world.rank() != 0) return;
  std::vector<std::string> keys = bench.keys();
  const auto began = std::find(keys.begin(), keys.end(), "epoch_start");
  const std::vector<std::string> part = {"block_start", "eval_start", "eval_stop", "eval_accuracy",
                                         "block_stop"};
  std::vector<std::string> expected = {"epoch_start"};
  for (int i = 0; i < 3; ++i) append(expected, part);
  // The last step of an epoch comes after its last evaluation.
  append(expected, {"block_start", "block_stop", "epoch_stop"});
  ASSERT_GE(keys.end() - began, static_cast<std::ptrdiff_t>(expected.size()));
  EXPECT_EQ(std::vector<std::string>(began, began + static_cast<std::ptrdiff_t>(expected.size())),
            expected);
  EXPECT_EQ(bench.first("block_start")["metadata"]["first_epoch_num"], 1);
  EXPECT_NEAR(bench.first("block_start")["metadata"]["epoch_count"].get<double>(), 0.3, 1e-12);
  EXPECT_NEAR(bench.first("eval_accuracy")["metadata"]["epoch_num"].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(keys.back(), "run_stop");
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "epoch_start"),
            std::count(keys.begin(), keys.end(), "epoch_stop"));
}

TEST(RunOnce, RefusesTwoWaysToSayWhenToEvaluate) {
  EXPECT_THROW(ToyBench(json{{"evaluation", {{"per_epoch", 3}, {"every_epochs", 2}}}}),
               base::ConfigError);
}

TEST(RunOnce, GivesEveryRecordThatSpellsTheMetricAnEpoch) {
  // The reference convergence checker searches the text, not the key.
  ToyBench bench;
  bench.run();
  std::int64_t found = 0;
  for (const json& record : bench.records()) {
    if (record.dump().find("eval_accuracy") == std::string::npos) continue;
    ++found;
    EXPECT_TRUE(record["metadata"].contains("epoch_num")) << record;
    EXPECT_EQ(record["key"], "eval_accuracy") << record;
  }
  EXPECT_EQ(found, bench.world.rank() == 0 ? 5 : 0);
}

TEST(RunOnce, CallsTheWorkloadInItsOrder) {
  std::vector<std::string> calls;
  ToyScript script;
  script.calls = &calls;
  ToyBench bench(json{{"evaluation", {{"every_epochs", 5}}}}, script);
  const RunOutcome outcome = bench.run();
  EXPECT_THAT(calls, ElementsAre("open_data", "initialize", "stage", "evaluate"));
  EXPECT_EQ(outcome.epochs, 5);
  ASSERT_EQ(outcome.evaluations.size(), 1U);
  EXPECT_GE(outcome.run_s, outcome.evaluations[0].since_run_start_s);
}

TEST(RunOnce, EndsAtTheTargetOfTheConfiguration) {
  ToyBench bench(json{{"target", {{"quality", 0.15}}}});
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  EXPECT_EQ(outcome.epochs, 2);
  if (bench.world.rank() == 0) {
    EXPECT_EQ(bench.first("quality_target")["value"], 0.15);
  }
}

TEST(RunOnce, EndsAtTheEpochLimitAsAbortedAndMissed) {
  ToyBench bench(json{{"epochs", 3}});
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kTargetMissed);
  EXPECT_EQ(exit_code(outcome.status), base::ExitCode::kTargetMissed);
  EXPECT_EQ(outcome.evaluations.size(), 3U);
  if (bench.world.rank() == 0) {
    EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
    EXPECT_THAT(bench.first("run_stop")["metadata"]["reason"].get<std::string>(),
                HasSubstr("not reached in 3 epochs"));
  }
}

TEST(RunOnce, StopsOnEveryRankWhenOneRankGetsASignal) {
  const StopSignals signals;
  ToyBench bench;
  bench.stop_requested = [&] { return signals.requested(); };
  const int last = bench.world.size() - 1;
  bench.script.at_step = [&](std::int64_t step) {
    if (step == 13 && bench.world.rank() == last) raise(SIGTERM);
  };
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(exit_code(outcome.status), base::ExitCode::kStopped);
  if (bench.world.rank() != 0) return;
  EXPECT_EQ(bench.keys().back(), "run_stop");
  const json metadata = bench.first("run_stop")["metadata"];
  EXPECT_EQ(metadata["status"], "aborted");
  EXPECT_THAT(metadata["reason"].get<std::string>(), testing::StartsWith("stopped by SIGTERM"));
}

TEST(RunOnce, StopsBeforeItStagesWhenTheSignalCameEarly) {
  ToyBench bench;
  std::vector<std::string> calls;
  bench.script.calls = &calls;
  bench.stop_requested = [] { return StopSignal::kHangUp; };
  EXPECT_EQ(bench.run().reason, "stopped by SIGHUP after step 0");
  EXPECT_THAT(calls, ElementsAre("open_data", "initialize"));
}

TEST(RunOnce, StopsBehindAnEvaluationWithoutAnotherStep) {
  for (const std::int64_t per_epoch : {1, 2}) {
    ToyBench bench(json{{"evaluation", {{"per_epoch", per_epoch}}}});
    StopSignal asked = StopSignal::kNone;
    bench.script.at_call = [&](const std::string& call) {
      if (call == "evaluate") asked = StopSignal::kTerminate;
    };
    bench.stop_requested = [&] { return asked; };
    const RunOutcome outcome = bench.run();
    EXPECT_EQ(outcome.status, RunStatus::kStopped);
    EXPECT_EQ(outcome.evaluations.size(), 1U);
    EXPECT_EQ(outcome.reason, per_epoch == 1 ? "stopped by SIGTERM after step 10"
                                             : "stopped by SIGTERM after step 5");
  }
}

TEST(RunOnce, EndsOnEveryRankWhenTheLogOfAStrictRunBreaksARule) {
  ToyBench bench;
  std::int64_t steps = 0;
  bench.script.at_step = [&](std::int64_t step) { steps = step; };
  if (bench.world.rank() == 0) {
    bench.rule_broken = [&] { return steps < 12 ? "" : "init_stop: came too late"; };
  }
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kRuleBroken);
  EXPECT_EQ(exit_code(outcome.status), base::ExitCode::kNonCompliant);
  EXPECT_EQ(outcome.reason, "--rules strict: init_stop: came too late");
  EXPECT_LT(steps, 80);
  if (bench.world.rank() != 0) return;
  EXPECT_EQ(bench.keys().back(), "run_stop");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["reason"], outcome.reason);
}

TEST(RunOnce, StopsWithItsReasonWhenTheLossIsNotFinite) {
  ToyScript script;
  script.not_finite_at_step = 11;
  ToyBench bench(json::object(), script);
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kDiverged);
  EXPECT_THAT(outcome.reason, HasSubstr("loss is not finite"));
  EXPECT_EQ(exit_code(outcome.status), base::ExitCode::kTargetMissed);
  if (bench.world.rank() != 0) return;
  EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["reason"], outcome.reason);
}

TEST(RunOnce, NamesTheRanksWhoseParametersDrifted) {
  ToyScript script;
  script.drifting_rank = Communicator::world().size() - 1;
  ToyBench bench(json::object(), script);
  if (bench.world.size() == 1) {
    EXPECT_EQ(bench.run().status, RunStatus::kSuccess);
    return;
  }
  try {
    bench.run();
    FAIL() << "expected an AgreedError";
  } catch (const AgreedError& e) {
    EXPECT_THAT(e.what(), HasSubstr("ranks " + std::to_string(bench.world.size() - 1) + " differ"));
  }
  if (bench.world.rank() == 0) {
    EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
  }
}

TEST(RunOnce, ComparesReplicasOnceForEachPartOfAnEpoch) {
  for (const std::int64_t per_epoch : {1, 2, 3}) {
    std::int64_t hashes = 0;
    ToyScript script;
    script.hashes = &hashes;
    ToyBench bench(json{{"epochs", 2},
                        {"target", {{"quality", 2.0}}},
                        {"evaluation", {{"per_epoch", per_epoch}}}},
                   script);
    bench.run();
    // Three parts of three steps leave one more step.
    EXPECT_EQ(hashes, 2 * (per_epoch == 3 ? 4 : per_epoch));
  }
}

TEST(RunOnce, TellsADriftWithinAnEpochByItsSteps) {
  ToyScript script;
  script.drifting_rank = Communicator::world().size() - 1;
  if (script.drifting_rank == 0) return;  // a single rank agrees with itself
  ToyBench bench(json{{"evaluation", {{"per_epoch", 2}}}}, script);
  EXPECT_THAT(base::thrown_message<AgreedError>([&] { bench.run(); }),
              testing::HasSubstr("after step 5 of epoch 1 the parameters of ranks " +
                                 std::to_string(script.drifting_rank) + " differ from rank 0's"));
}

TEST(RunOnce, LogsRankZerosOwnFailureBeforeItThrows) {
  // On one rank only: otherwise the others would wait for the job's end, as they should.
  if (Communicator::world().size() > 1) return;
  ToyScript script;
  script.throw_at_step = 4;
  ToyBench bench(json::object(), script);
  EXPECT_THROW(bench.run(), base::DataError);
  EXPECT_EQ(bench.keys().back(), "run_stop");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["reason"], "toy.tar: sample 5 is damaged");
}

TEST(RunOnce, AccountsForTheWholeRun) {
  ToyBench bench;
  const RunOutcome outcome = bench.run();
  const json entry = json::parse(outcome.telemetry_entry);
  EXPECT_GE(entry["wall_s"].get<double>(), outcome.run_s);
}

TEST(RunOnce, AccountsForWaitingWhereverRanksMeet) {
  ToyBench bench;
  const json entry = json::parse(bench.run().telemetry_entry);
  EXPECT_GT(entry["subsystems_s"]["exchange"].get<double>(), 0.0) << "agreeing whether to go on";
  for (const char* outer : {"staging", "evaluation"}) {
    EXPECT_TRUE(entry["within_s"][outer].contains("exchange")) << outer;
  }
}

TEST(RunOnce, TellsPeopleOfEveryEpoch) {
  ToyBench bench(json{{"epochs", 2}});
  bench.run();
  if (bench.world.rank() != 0) {
    EXPECT_EQ(bench.stderr_text.str(), "");
    return;
  }
  EXPECT_THAT(bench.stderr_text.str(), HasSubstr("epoch 1/2  loss"));
  EXPECT_THAT(bench.stderr_text.str(), HasSubstr("epoch 2/2  quality 0.2 (target 0.45)"));
}

}  // namespace
}  // namespace runner

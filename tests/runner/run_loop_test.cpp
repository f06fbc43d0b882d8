// Tests of the run loop with a toy workload, on as many ranks as the launcher gives.
#include "runner/run_loop.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <sstream>

#include "runner/agreed_error.h"
#include "runner/base/thrown_message.h"
#include "runner/logged_keys.h"
#include "runner/stop_signals.h"
#include "telemetry_account.h"
#include "toy_workload.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LineSink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

/// The machine's clock, whose calendar can be set.
class SetClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return clock_.steady_ns(); }
  std::int64_t unix_ms() const override { return clock_.unix_ms() + set_ms; }
  std::atomic<std::int64_t> set_ms = 0;

 private:
  base::SystemClock clock_;
};

/// One run with its dependencies; only rank 0's log has lines.
struct Bench {
  explicit Bench(const json& overrides = json::object(), ToyScript toy_script = {})
      : script(std::move(toy_script)) {
    json object = {{"workload", "toy"}, {"epochs", 8}, {"seed", 7}};
    object.update(overrides);
    const base::ObjectReader reader(object, "toy.json");
    config.emplace(parse_run_config(reader, "toy.json"));
  }

  RunOutcome run() {
    LineSink* sink = world.rank() == 0 ? &lines : nullptr;
    mllog::LogWriter log(sink, clock);
    const Surroundings around{world, topology, telemetry, 1};
    ToyWorkload workload(around, config->seed, script);
    const CacheClearing caches{false, "a test"};
    const telemetry::RankIdentity identity{world.rank(), "here", 0, 1};
    RunDoors doors{world, topology, telemetry, log, identity, console, stop_requested};
    doors.rule_broken = rule_broken;
    RunOutcome outcome = run_once(*config, workload, caches, doors);
    telemetry::expect_whole_entry(outcome.telemetry_entry);
    return outcome;
  }

  std::vector<json> records() const {
    std::vector<json> all;
    for (const std::string& line : lines.lines) {
      const std::string prefix = ":::MLLOG ";
      EXPECT_EQ(line.compare(0, prefix.size(), prefix), 0) << line;
      all.push_back(json::parse(line.substr(prefix.size())));
    }
    return all;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const json& record : records()) names.push_back(record["key"]);
    return names;
  }
  json first(const std::string& key) const {
    for (const json& record : records()) {
      if (record["key"] == key) return record;
    }
    return json();
  }

  SetClock clock;
  Communicator world = Communicator::world();
  Topology topology = discover_topology(world);
  telemetry::Telemetry telemetry{clock};
  std::ostringstream stderr_text;
  Console console{stderr_text, world.rank() == 0 ? Console::Style::kLines : Console::Style::kSilent,
                  clock};
  LineSink lines;
  ToyScript script;
  std::optional<RunConfig> config;
  std::function<StopSignal()> stop_requested = [] { return StopSignal::kNone; };
  std::function<std::string()> rule_broken;
};

void append(logged_keys::Keys& keys, const logged_keys::Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
}

TEST(RunOnce, WritesTheRecordsInTheOrderOfTheRules) {
  Bench bench(json{{"evaluation", {{"every_epochs", 4}, {"offset_epochs", 1}}}});
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
    Bench bench;
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
  Bench bench(json{{"evaluation", {{"every_epochs", 5}}}});
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

TEST(RunOnce, EvaluatesWithinEpochs) {
  Bench bench(json{{"evaluation", {{"per_epoch", 3}}}});
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
  EXPECT_THROW(Bench(json{{"evaluation", {{"per_epoch", 3}, {"every_epochs", 2}}}}),
               base::ConfigError);
}

TEST(RunOnce, GivesEveryRecordThatSpellsTheMetricAnEpoch) {
  // The reference convergence checker searches the text, not the key.
  Bench bench;
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
  Bench bench(json{{"evaluation", {{"every_epochs", 5}}}}, script);
  const RunOutcome outcome = bench.run();
  EXPECT_THAT(calls, ElementsAre("open_data", "initialize", "stage", "evaluate"));
  EXPECT_EQ(outcome.epochs, 5);
  ASSERT_EQ(outcome.evaluations.size(), 1U);
  EXPECT_GE(outcome.run_s, outcome.evaluations[0].since_run_start_s);
}

TEST(RunOnce, EndsAtTheTargetOfTheConfiguration) {
  Bench bench(json{{"target", {{"quality", 0.15}}}});
  const RunOutcome outcome = bench.run();
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  EXPECT_EQ(outcome.epochs, 2);
  if (bench.world.rank() == 0) {
    EXPECT_EQ(bench.first("quality_target")["value"], 0.15);
  }
}

TEST(RunOnce, EndsAtTheEpochLimitAsAbortedAndMissed) {
  Bench bench(json{{"epochs", 3}});
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
  Bench bench;
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
  Bench bench;
  std::vector<std::string> calls;
  bench.script.calls = &calls;
  bench.stop_requested = [] { return StopSignal::kHangUp; };
  EXPECT_EQ(bench.run().reason, "stopped by SIGHUP after step 0");
  EXPECT_THAT(calls, ElementsAre("open_data", "initialize"));
}

TEST(RunOnce, StopsBehindAnEvaluationWithoutAnotherStep) {
  for (const std::int64_t per_epoch : {1, 2}) {
    Bench bench(json{{"evaluation", {{"per_epoch", per_epoch}}}});
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
  Bench bench;
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
  Bench bench(json::object(), script);
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
  Bench bench(json::object(), script);
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
    Bench bench(json{{"epochs", 2},
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
  Bench bench(json{{"evaluation", {{"per_epoch", 2}}}}, script);
  EXPECT_THAT(base::thrown_message<AgreedError>([&] { bench.run(); }),
              testing::HasSubstr("after step 5 of epoch 1 the parameters of ranks " +
                                 std::to_string(script.drifting_rank) + " differ from rank 0's"));
}

TEST(RunOnce, LogsRankZerosOwnFailureBeforeItThrows) {
  // On one rank only: otherwise the others would wait for the job's end, as they should.
  if (Communicator::world().size() > 1) return;
  ToyScript script;
  script.throw_at_step = 4;
  Bench bench(json::object(), script);
  EXPECT_THROW(bench.run(), base::DataError);
  EXPECT_EQ(bench.keys().back(), "run_stop");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["status"], "aborted");
  EXPECT_EQ(bench.first("run_stop")["metadata"]["reason"], "toy.tar: sample 5 is damaged");
}

TEST(RunOnce, AccountsForTheWholeRun) {
  Bench bench;
  const RunOutcome outcome = bench.run();
  const json entry = json::parse(outcome.telemetry_entry);
  EXPECT_GE(entry["wall_s"].get<double>(), outcome.run_s);
}

TEST(RunOnce, AccountsForWaitingWhereverRanksMeet) {
  Bench bench;
  const json entry = json::parse(bench.run().telemetry_entry);
  EXPECT_GT(entry["subsystems_s"]["exchange"].get<double>(), 0.0) << "agreeing whether to go on";
  for (const char* outer : {"staging", "evaluation"}) {
    EXPECT_TRUE(entry["within_s"][outer].contains("exchange")) << outer;
  }
}

TEST(RunOnce, TellsPeopleOfEveryEpoch) {
  Bench bench(json{{"epochs", 2}});
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

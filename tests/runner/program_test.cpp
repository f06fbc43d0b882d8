// Tests of the program from outside: exit codes, files, signals, failing ranks.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runner/program_trial.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST_F(ProgramTest, HelpNamesTheExitCodesAndEachCommandItsExample) {
  const Ended all = toy("--help");
  EXPECT_EQ(all.status, 0);
  EXPECT_THAT(all.out, HasSubstr("6  the target was missed"));
  for (const char* command :
       {"run", "evaluate", "generate", "bench", "config", "system", "script", "doctor"}) {
    EXPECT_THAT(all.out, HasSubstr(command));
    const Ended one = toy(std::string(command) + " --help");
    EXPECT_EQ(one.status, 0) << command;
    EXPECT_THAT(one.out, HasSubstr(std::string("trainmark ") + command)) << command;
  }
  EXPECT_EQ(toy("--version").out, "toy 1.2.3\n");
}

TEST_F(ProgramTest, UsageErrorsEndWithTwoAndSayWhatIsWrong) {
  EXPECT_EQ(toy("").status, 2);
  const Ended unknown = toy("evalute");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'evaluate'"));
  EXPECT_EQ(toy("run --runs 0 " + config()).status, 2);
  EXPECT_EQ(toy("run " + (folder_ / "absent.json").string()).status, 2);
  const Ended typo = toy("run " + config({{"epoch", 3}}));
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.err, HasSubstr("/epoch"));
  EXPECT_EQ(toy("run " + config({{"workload", "tot"}})).status, 2);
  const Ended missing = toy("analyze results --json -");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("analyze: this build lacks it"));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(ProgramTest, TellsAUsageErrorOnceUnderALauncher) {
  const Ended typo = toy_on(2, "run " + config({{"epoch", 3}}));
  EXPECT_EQ(typo.status, 2);
  const std::size_t first = typo.err.find("/epoch");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(typo.err.find("trainmark: ", first), std::string::npos) << typo.err;
}

TEST_F(ProgramTest, LeavesLogConfigTelemetryAndWeightsOfARun) {
  const Ended run = toy("run " + config());
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("RESULT benchmark=resnet metric=time_to_train value="));
  EXPECT_THAT(run.out, HasSubstr("unit=s status=success quality=0.5 epochs=5 seed=5"));
  EXPECT_THAT(run.out, HasSubstr(result("1.txt").string()));
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"run_stop\""));
  EXPECT_EQ(json::parse(content(result("1.config.json")))["seed"], 5);
  EXPECT_EQ(json::parse(content(result("1.weights.h5")))["weights"][2], 5.0);
  const json telemetry = json::parse(content(result("1.telemetry.json")));
  EXPECT_THAT(telemetry.dump(), HasSubstr("\"binding\""));
  EXPECT_THAT(telemetry.dump(), HasSubstr("\"libraries\""));
}

TEST_F(ProgramTest, RunsAgainFromTheConfigurationBesideALog) {
  ASSERT_EQ(toy("run --set seed=0 " + config()).status, 0);
  const json first = json::parse(content(result("1.config.json")));
  EXPECT_NE(first["seed"], 0);
  ASSERT_EQ(toy("run " + result("1.config.json").string()).status, 0);
  EXPECT_EQ(json::parse(content(result("2.config.json"))), first);
}

TEST_F(ProgramTest, GivesEveryRunOfASetItsOwnSeedAndFiles) {
  ASSERT_EQ(toy("run --runs 3 " + config()).status, 0);
  std::set<std::uint64_t> seeds;
  for (const char* n : {"1", "2", "3"}) {
    seeds.insert(
        json::parse(content(result(std::string(n) + ".config.json")))["seed"].get<std::uint64_t>());
  }
  EXPECT_EQ(seeds.size(), 3U);
}

TEST_F(ProgramTest, AnswersAMissedTargetWithSixAndKeepsTheResult) {
  const Ended run = toy_on(2, "run " + config({{"epochs", 2}}));
  EXPECT_EQ(run.status, 6);
  EXPECT_THAT(run.out, HasSubstr("value=none unit=s status=target_missed"));
  EXPECT_TRUE(fs::exists(result("1.weights.h5")));
}

TEST_F(ProgramTest, EndsADivergedRunWithItsReasonAndWithoutWeights) {
  const Ended run = toy("run " + config({{"model", {{"not_finite_at_step", 3}}}}));
  EXPECT_EQ(run.status, 6);
  EXPECT_THAT(run.err, HasSubstr("the loss is not finite at step"));
  EXPECT_FALSE(fs::exists(result("1.weights.h5")));
  EXPECT_TRUE(fs::exists(result("1.telemetry.json")));
}

TEST_F(ProgramTest, StopsASetOnASignalAndKeepsWhatIsFinished) {
  // Each run of the set would get the signal; the first one ends the set.
  const Ended run = toy_on(2, "run --runs 3 " + config({{"model", {{"signal_at_step", 15}}}}));
  EXPECT_EQ(run.status, 7) << run.err;
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"status\": \"aborted\""));
  EXPECT_TRUE(fs::exists(result("1.telemetry.json")));
  EXPECT_FALSE(fs::exists(result("2.txt")));
}

TEST_F(ProgramTest, EndsTheJobWithinSecondsWhenOneRankThrows) {
  const Ended run =
      toy_on(3, "run " + config({{"model", {{"throw_at_step", 7}, {"throwing_rank", 1}}}}));
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("rank 1: toy.tar: sample 5 is damaged"));
  EXPECT_LT(run.seconds, 60.0);  // far from a hang, even if other work delays the launcher
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"run_start\""));
}

TEST_F(ProgramTest, LogsTheEndWhenRankZeroThrows) {
  const Ended run = toy_on(2, "run " + config({{"model", {{"throw_at_step", 7}}}}));
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"status\": \"aborted\""));
}

TEST_F(ProgramTest, KeepsTheLogOfAKilledRunUpToItsLastRecord) {
  toy_on(2, "run " + config({{"model", {{"kill_at_step", 15}}}}));
  const std::string log = content(result("1.txt"));
  EXPECT_THAT(log, HasSubstr("\"key\": \"eval_accuracy\", \"value\": 0.1"));
  EXPECT_THAT(log, Not(HasSubstr("run_stop")));
  EXPECT_EQ(log.back(), '\n');
}

TEST_F(ProgramTest, TellsADriftOfReplicasOnce) {
  const Ended run = toy_on(3, "run " + config({{"model", {{"drifting_rank", 2}}}}));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              HasSubstr("rank 0: after step 10 of epoch 1 the parameters of ranks 2 differ"));
  EXPECT_THAT(run.err, Not(HasSubstr("rank 2: after")));
  EXPECT_LT(run.seconds, 60.0);  // far from a hang, even if other work delays the launcher
}

TEST_F(ProgramTest, PlansWithoutWritingAnything) {
  const Ended plan = toy("run --dry-run --json - " + config());
  ASSERT_EQ(plan.status, 0) << plan.err;
  const json document = json::parse(plan.out);
  EXPECT_EQ(document["schedule"]["steps_at_most"], 80);
  EXPECT_EQ(document["memory"]["rank_bytes"]["gradients"], 12);
  EXPECT_EQ(document["config"]["seed"], 5);
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  EXPECT_THAT(toy("run --dry-run " + config()).out, HasSubstr("schedule.steps_at_most"));
  const Ended closed =
      toy("run --dry-run --json - --set submission.division=closed "
          "--set target.quality=0.3 " +
          config());
  EXPECT_THAT(json::parse(closed.out)["rules"]["findings"].dump(), HasSubstr("/target/quality"));
}

TEST_F(ProgramTest, PlansAnyNumberOfEpochsAtOnce) {
  const auto plan = [this](const std::string& overrides) {
    const Ended ended = toy("run --dry-run --json - " + config() + overrides);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_LT(ended.seconds, 20.0);
    return json::parse(ended.out)["schedule"]["evaluations_at_most"];
  };
  EXPECT_EQ(plan(" --set epochs=4294967296"), 4294967296);
  EXPECT_EQ(plan(" --set epochs=4294967296 --set evaluation.every_epochs=4 --set "
                 "evaluation.offset_epochs=3"),
            1073741824);
  EXPECT_EQ(plan(" --set epochs=10 --set evaluation.every_epochs=4"), 2);
  EXPECT_EQ(toy("run --dry-run " + config() + " --set epochs=9223372036854775807").status, 2);
}

TEST_F(ProgramTest, EstimatesTimeFromAnEarlierRunOfTheSameWorkOnly) {
  const auto time = [this](const std::string& overrides) {
    const Ended plan = toy("run --dry-run --json - " + config() + overrides);
    return json::parse(plan.out)["schedule"]["time"];
  };
  EXPECT_THAT(time("")["estimate"].get<std::string>(), HasSubstr("none"));
  ASSERT_EQ(toy("run " + config()).status, 0);
  const json once = time(" --set seed=9");
  EXPECT_EQ(once["measured_in"], result("1.telemetry.json").string());
  const json telemetry = json::parse(content(result("1.telemetry.json")));
  EXPECT_EQ(once["step_s"], telemetry["ranks"][0]["step_s"]["mean"]);
  EXPECT_GT(time(" --runs 2")["seconds_at_most"], once["seconds_at_most"]);
  EXPECT_TRUE(time(" --set model.not_finite_at_step=70").contains("estimate"));
}

TEST_F(ProgramTest, EvaluatesGivenWeightsAndWritesOutputs) {
  ASSERT_EQ(toy("run " + config()).status, 0);
  const std::string outputs = (folder_ / "outputs.txt").string();
  const Ended evaluation =
      toy("evaluate " + config() + " --weights " + result("1.weights.h5").string() + " --outputs " +
          outputs + " --json -");
  ASSERT_EQ(evaluation.status, 0) << evaluation.err;
  EXPECT_EQ(json::parse(evaluation.out)["metric"], "eval_accuracy");
  EXPECT_EQ(content(outputs), "1\n");
  const Ended absent = toy("evaluate " + config() + " --weights absent.h5");
  EXPECT_EQ(absent.status, 3);
  EXPECT_THAT(absent.err, HasSubstr("absent.h5"));
}

TEST_F(ProgramTest, PrintsConfigurationAndSchemaAsOneDocument) {
  const json resolved = json::parse(toy("config " + config() + " --set epochs=3").out);
  EXPECT_EQ(resolved["epochs"], 3);
  EXPECT_EQ(resolved["evaluation"]["every_epochs"], 1);
  const json schema = json::parse(toy("config --schema " + config()).out);
  EXPECT_TRUE(schema["properties"]["model"]["properties"].contains("throw_at_step"));
}

TEST_F(ProgramTest, TellsTheMemoryOfARankAndOfANode) {
  const std::string planned = "config --memory --set threads=2 " + config();
  const json document = json::parse(toy(planned + " --ranks 3 --json -").out);
  EXPECT_EQ(document["rank_bytes"]["activations and scratch"], 8192);
  EXPECT_EQ(document["total_bytes"], 8192 + 12 + 12);
  EXPECT_EQ(document["node_total_bytes"], 3 * (8192 + 12) + 12);
  EXPECT_EQ(document["peak"]["at"], "forward of it all");
  for (const char* const part : {"total_bytes", "node_total_bytes", "rank_bytes", "peak"}) {
    EXPECT_TRUE(document["definitions"].contains(part)) << part;
  }
  const std::string text = toy(planned).out;
  EXPECT_THAT(text, HasSubstr("rank 0 of 1, threads: 2"));
  EXPECT_THAT(text, testing::ContainsRegex("activations and scratch +8.0 KiB"));
  EXPECT_THAT(text, HasSubstr("forward of it all"));
  EXPECT_THAT(text, Not(HasSubstr("a node of")));
  EXPECT_THAT(toy(planned + " --ranks 3").out, HasSubstr("a node of 3 ranks"));
  EXPECT_EQ(toy("config --ranks 2 " + config()).status, 2);
  EXPECT_EQ(toy("config --memory --schema " + config()).status, 2);
}

TEST_F(ProgramTest, BenchesGeneratesAndDescribes) {
  const Ended bench = toy("bench toy --batch 7 --json -");
  ASSERT_EQ(bench.status, 0) << bench.err;
  EXPECT_EQ(json::parse(bench.out)["batch"], 7);
  EXPECT_TRUE(json::parse(bench.out)["provenance"].contains("machine"));
  EXPECT_EQ(json::parse(toy("bench --batch 7 toy --size 5 --json -").out)["size"], 5);
  EXPECT_EQ(json::parse(toy("bench --batch 7 toy --size 5 --json -").out)["batch"], 7);
  EXPECT_EQ(toy("bench toi").status, 2);
  EXPECT_EQ(toy("bench toy --batch -1").status, 2);
  EXPECT_EQ(toy("bench toy --precision f64").status, 2);
  const std::string data = (folder_ / "data").string();
  EXPECT_EQ(toy("generate toy --output " + data).status, 0);
  EXPECT_EQ(content(data), "toy\n");
  EXPECT_THAT(toy("generate tow").err,
              HasSubstr("no workload is called 'tow'; did you mean 'toy'?"));
  EXPECT_THAT(toy("generate").err, HasSubstr("there are: toy"));
  EXPECT_EQ(toy("generate toy --output " + data + " --beyond").status, 2);
  EXPECT_EQ(toy("bench toy --seed -1").status, 2);
  const json system = json::parse(toy("system --submitter Us --json -").out);
  EXPECT_EQ(system.size(), 33U);
  EXPECT_EQ(system["submitter"], "Us");
  EXPECT_EQ(system["accelerators_per_node"], "0");
  for (const auto& [key, value] : system.items()) EXPECT_TRUE(value.is_string()) << key;
}

TEST_F(ProgramTest, NamesTheWorkloadThatLacksAnOption) {
  const auto refusal = [this](const std::string& arguments) {
    const Ended ended = toy(arguments);
    EXPECT_EQ(ended.status, 2);
    return ended.err;
  };
  EXPECT_EQ(refusal("bench toy --sice=5"),
            "trainmark: bench toy: --sice means nothing here; did you mean '--size'?\n");
  EXPECT_EQ(refusal("bench --size 5 toy"), "trainmark: bench: --size: must follow toy\n");
  EXPECT_EQ(refusal("bench toy still"), "trainmark: bench toy: still means nothing here\n");
  EXPECT_EQ(refusal("bench still"), "trainmark: WORKLOAD: still has no bench\n");
  EXPECT_EQ(refusal("bench"),
            "trainmark: WORKLOAD: expected the name of a workload (there are: toy still)\n");
}

TEST_F(ProgramTest, ShowsTheOptionsOfEachBench) {
  const std::string help = toy("bench toy --help").out;
  for (const char* line : {"--batch INT", "--size INT", "--mpi-timeout INT", "--json TEXT",
                           "Example:\n  trainmark bench toy --threads"}) {
    EXPECT_THAT(help, HasSubstr(line));
  }
  EXPECT_THAT(help, testing::ContainsRegex("--size INT(=3| *.3.)"));  // CLI11 2.1 and 2.4
  const std::string all = toy("bench --help").out;
  EXPECT_THAT(all, AllOf(HasSubstr("--batch INT"), HasSubstr("a toy"), Not(HasSubstr("--size"))));
}

TEST_F(ProgramTest, WarnsOfMoreThreadsThanCpus) {
  const Ended run = toy_on(2, "run " + config({{"threads", 4096}}));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, ContainsRegex("WARNING: 8192 threads on [0-9]+ CPUs of node [^ ]+: times"));
}

TEST_F(ProgramTest, RefusesLoneProcessesThatWereToBeOneJob) {
  const std::vector<std::pair<std::string, std::string>> launchers = {
      {"SLURM_NTASKS=2 SLURM_PROCID=", "srun --mpi"},
      {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=", "start it by"}};
  for (const auto& [variables, remedy] : launchers) {
    for (const std::string rank : {"0", "1"}) {
      const Ended run = shell("env " + variables + rank + " " TOY_PROGRAM " run " + config());
      EXPECT_EQ(run.status, 4) << variables << rank << run.err;
      EXPECT_THAT(run.err, rank == "0" ? HasSubstr(remedy) : HasSubstr(""));
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(ProgramTest, NamesTheVariableThatTakesThreadsFromARun) {
  const auto run = [this](const std::string& variables, int threads) {
    return shell("env -u OMP_NUM_THREADS " + variables + " " TOY_PROGRAM " run " +
                 config({{"threads", threads}}));
  };
  for (const std::string variable : {"OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0"}) {
    EXPECT_THAT(run(variable, 0).err, HasSubstr(variable + ": OpenMP gives a rank 1 thread,"));
    EXPECT_THAT(run(variable, 1).err, Not(HasSubstr(variable)));
  }
  EXPECT_THAT(run("GOMP_CPU_AFFINITY=0", 0).err,
              HasSubstr("GOMP_CPU_AFFINITY=0: leaves this run 1 of "));
  for (const int threads : {0, 2}) {
    EXPECT_THAT(run("OMP_PROC_BIND=close", threads).err, Not(HasSubstr("WARNING")));
  }
}

}  // namespace
}  // namespace runner

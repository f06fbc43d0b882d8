// Tests of whole runs of the program with the example: the features that a workload gets by
// providing its folder and its entry.
#include <gmock/gmock.h>

#include "runner/generated_run.h"
#include "runner/logged_keys.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kNonCompliant;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kTrainPoints = 2000, kValidationPoints = 500;

class Example : public outside::GeneratedRun {
 protected:
  Example() : GeneratedRun("example", "--seed 3") {}
  /// example.json with the paths of this test.
  json config() const override {
    json config = json::parse(content("tests/workloads/example/example.json"));
    config.merge_patch(usual_config());
    config["epochs"] = 20;
    return config;
  }
  static void keep_training(json& c) {
    c["epochs"] = 3;
    c["target"]["quality"] = 1.0;
    c["checkpoint"] = {{"every_steps", 30}, {"keep_last", 9}};
  }
};

TEST_F(Example, ReachesItsTargetOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    const Ended ended = run([](json&) {}, ranks == 1 ? "" : mpirun(ranks));
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("RESULT benchmark=example metric=time_to_train"),
                                 HasSubstr("status=success")));
    EXPECT_GE(logged("eval_accuracy").back().get<double>(), 0.97);
    EXPECT_THAT(logged("train_samples"), ElementsAre(kTrainPoints));
    EXPECT_THAT(logged("eval_samples"), ElementsAre(kValidationPoints));
    EXPECT_THAT(logged("opt_name"), ElementsAre("sgd"));
    fs::remove_all(folder_ / "results");
  }
}

TEST_F(Example, LogsTheUsualKeysInOrder) {
  ASSERT_EQ(run([](json& c) { c["target"]["quality"] = 0.1; }, mpirun(2)).status, 0);
  EXPECT_EQ(keys(), logged_keys::of_one_epoch({"opt_name", "opt_lr"}, "eval_accuracy"));
}

/// MLPerf has no rules for this benchmark, only those for every log.
TEST_F(Example, HasALogThatBreaksNoRuleButThatOfItsName) {
  ASSERT_EQ(run([](json&) {}, mpirun(2)).status, 0);
  const Ended checked =
      shell(std::string(TRAINMARK) + " check --json - " + result("1.txt").string());
  EXPECT_EQ(checked.status, kNonCompliant) << checked.err;
  const json found = json::parse(checked.out).at("files").at("result_1.txt");
  EXPECT_THAT(found.at("failing_keys"), ElementsAre("submission_benchmark"));
  expect_verdict_of_check();
}

TEST_F(Example, EndsInTheSameBitsWhenResumed) {
  ASSERT_EQ(run(keep_training, mpirun(2)).status, kTargetMissed);
  const Ended resumed = run(keep_training, mpirun(2), resume_from("checkpoint_0001_step_30.h5"));
  ASSERT_EQ(resumed.status, kTargetMissed) << resumed.err;
  EXPECT_EQ(content(result("2.weights.h5")), content(result("1.weights.h5")));
  EXPECT_EQ(logged("eval_accuracy", 2), logged("eval_accuracy"));
  const auto wider = [](json& c) {
    keep_training(c);
    c["model"]["hidden"] = 17;
  };
  expect(run(wider, mpirun(2), "--resume"), kData,
         HasSubstr("/model/hidden: expected 16, found 17"));
}

TEST_F(Example, EvaluatesItsWeightsAsTheRunDid) {
  ASSERT_EQ(run([](json&) {}).status, 0);
  const Ended ended =
      evaluate(config(), result("1.weights.h5"),
               "--json - --outputs " + (folder_ / "outputs.h5").string(), mpirun(3));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["value"], logged("eval_accuracy").back());
  EXPECT_EQ(json::parse(ended.out)["samples"], kValidationPoints);
}

TEST_F(Example, RefusesAConfigurationThatCannotBe) {
  const auto refused = [this](const char* section, const char* key, const json& value) {
    return run([&](json& c) { c[section][key] = value; });
  };
  expect(refused("model", "hidden", 0), kUsage,
         HasSubstr("config.json: /model/hidden: must be between 1 and 4096, got 0"));
  expect(refused("model", "hiden", 8), kUsage, HasSubstr("did you mean \"hidden\"?"));
  expect(refused("training", "global_batch_size", 4000), kUsage,
         HasSubstr("2000 samples, fewer than its 4000 places in a batch"));
  expect(refused("optimizer", "learning_rate", -1), kUsage,
         HasSubstr("/optimizer/learning_rate: must be positive, got -1"));
}

TEST_F(Example, NamesTheFileThatIsDamaged) {
  fs::resize_file(set("validation"), 100);
  expect_everywhere(kData, HasSubstr("validation: expected points of 12 bytes each, found 100"));
}

TEST_F(Example, PlansWithoutTraining) {
  const json planned = plan(config());
  EXPECT_EQ(planned["workload"]["benchmark"], "example");
  EXPECT_EQ(planned["workload"]["parameters"], 3 * 16 + 17 * 2);
  EXPECT_EQ(planned["schedule"]["steps_per_epoch"], kTrainPoints / 50);
}

TEST_F(Example, BenchesOnTwoRanks) {
  const Ended ended = shell(mpirun(2) + TRAINMARK +
                            " bench example --batch 8 --hidden 5 --steps 3 --limit 1 --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["workload"], "example");
  EXPECT_EQ(result["hidden"], 5);
  EXPECT_EQ(result["parameters"], 3 * 5 + 6 * 2);
  EXPECT_EQ(result["ranks"], 2);
  EXPECT_GT(result["samples_per_s"], 0.0);
  EXPECT_GT(result["fraction_of_limit"], 0.0);
  expect(bench("example --image-size 8"), kUsage,
         HasSubstr("bench example: --image-size means nothing here, only to resnet50, alexnet"));
}

TEST_F(Example, GeneratesAsTheOthersDo) {
  const std::string other = (folder_ / "other").string();
  const std::string program = std::string(TRAINMARK) + " generate example ";
  const json planned = json::parse(shell(program + "--dry-run --train-points 7 " + other).out);
  EXPECT_EQ(planned["estimated_bytes"], (7 + kValidationPoints) * 12);
  EXPECT_FALSE(fs::exists(other));
  ASSERT_EQ(shell(program + "--seed 3 " + other).status, 0);
  EXPECT_EQ(content(other + "/train"), content(set("train")));
  EXPECT_THAT(shell(program + "--seed 3 --output " + other).err, HasSubstr("Already there: "));
  expect(shell(program + "--train-points 0 " + other), kUsage,
         HasSubstr("generate: --train-points: must be 1 to 100000000, got 0"));
}

TEST_F(Example, StandsBesideTheOthers) {
  const std::string help = shell(std::string(TRAINMARK) + " generate --help").out;
  EXPECT_THAT(help, AllOf(HasSubstr("resnet50"), HasSubstr("a perceptron of two layers")));
}

}  // namespace

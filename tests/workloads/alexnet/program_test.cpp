// Tests of whole runs of the program with AlexNet.
#include <gmock/gmock.h>

#include "runner/generated_run.h"
#include "workloads/exit_codes.h"

namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kNonCompliant;
using outside::kUsage;
using outside::mpirun;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class AlexNetProgram : public outside::GeneratedRun {
 protected:
  AlexNetProgram()
      : GeneratedRun("alexnet",
                     "--seed 3 --classes 4 --train-per-class 25 "
                     "--validation-per-class 5") {}
  /// The quickstart's, smaller.
  json config() const override {
    json config = json::parse(content("configs/alexnet/quickstart.json"));
    config.merge_patch(usual_config());
    config["epochs"] = 1;
    config["schedule"]["warmup_epochs"] = 0;
    config["target"] = {{"quality", 0.01}};
    config["dataset"]["train_samples"] = 100;
    config["dataset"]["validation_samples"] = 20;
    config["model"]["classes"] = 4;
    config["model"]["width"] = 12;
    return config;
  }
};

/// MLPerf has no rules for this benchmark, only those for every log.
TEST_F(AlexNetProgram, HasALogThatBreaksNoRuleButThatOfItsName) {
  const Ended ended = run([](json&) {}, mpirun(2));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Ended checked =
      shell(std::string(TRAINMARK) + " check --json - " + result("1.txt").string());
  EXPECT_EQ(checked.status, kNonCompliant) << checked.err;
  const json found = json::parse(checked.out).at("files").at("result_1.txt");
  EXPECT_THAT(found.at("failing_keys"), ElementsAre("submission_benchmark"));
  EXPECT_THAT(logged("model_bn_span"), ElementsAre(25));
}

TEST_F(AlexNetProgram, LogsNoGroupsOfNormsThatItLacks) {
  const auto response = [](json& c) {
    c["model"]["normalization"] = "response";
    c["training"].erase("bn_group_samples");
  };
  ASSERT_EQ(run(response).status, 0);
  EXPECT_THAT(keys(), Not(Contains("model_bn_span")));
  const auto grouped = [](json& c) { c["model"]["normalization"] = "response"; };
  expect(run(grouped), kUsage, HasSubstr("/training/bn_group_samples: unknown key"));
}

TEST_F(AlexNetProgram, SaysWhichWidthsItHas) {
  expect(run([](json& c) { c["model"]["width"] = 16; }), kUsage,
         HasSubstr("/model/width: must be a multiple of 6 from 6 to 1536, got 16"));
}

}  // namespace

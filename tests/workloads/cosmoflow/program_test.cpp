// Tests of whole runs of the program: reaching the target, shared samples, outputs, plans, and
// checks of its logs.
#include <gmock/gmock.h>

#include "runner/logged_keys.h"
#include "staging/h5.h"
#include "workloads/cosmoflow/universe_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class CosmoFlow : public outside::UniverseRun {};

void with_easy_target(json& c) { c["target"]["quality"] = 1.2; }

void with_halves(json& c) { c["training"]["sample_split"] = {{"depth", 2}}; }

TEST_F(CosmoFlow, ReachesATargetAndLogsTheKeysOfTheRulesInOrder) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run(with_easy_target, before);
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("RESULT benchmark=cosmoflow metric=time_to_train"),
                                 HasSubstr("status=success"), HasSubstr("epochs=1 ")));
    EXPECT_EQ(keys(),
              logged_keys::of_one_epoch(
                  {"opt_name", "opt_base_learning_rate", "opt_learning_rate_warmup_epochs",
                   "opt_learning_rate_warmup_factor", "opt_learning_rate_decay_boundary_epochs",
                   "opt_learning_rate_decay_factor", "dropout", "opt_weight_decay"},
                  "eval_error"));
    EXPECT_THAT(logged("submission_benchmark"), ElementsAre("cosmoflow"));
    EXPECT_THAT(logged("train_samples"), ElementsAre(kTrainSamples));
    EXPECT_THAT(logged("eval_samples"), ElementsAre(kValidationSamples));
    EXPECT_EQ(logged("weights_initialization").size(), 8U);
    for (const json& record : records()) {
      if (record["key"] == "eval_error") {
        EXPECT_EQ(record["metadata"]["epoch_num"], 1);
      }
    }
    fs::remove_all(folder_ / "results");
  }
}

TEST_F(CosmoFlow, TellsThatATargetWasMissed) {
  const Ended ended = run([](json&) {});
  expect(ended, kTargetMissed, HasSubstr("the target 0.001 was not reached"));
  EXPECT_EQ(logged("eval_error").size(), 2U);
}

/// After updates with other rounding, the maximum of two nearly equal voxels may be the other one.
TEST_F(CosmoFlow, TrainsInPartsWhatItTrainsWhole) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  ASSERT_EQ(run(with_halves, mpirun(2)).status, kTargetMissed);
  const auto quarters = [](json& c) {
    c["training"]["sample_split"] = {{"depth", 2}, {"height", 2}};
  };
  ASSERT_EQ(run(quarters, mpirun(4)).status, kTargetMissed);
  for (const char* key : {"train_loss", "eval_error"}) {
    const auto whole = logged(key, 1);
    ASSERT_EQ(whole.size(), 2U);
    for (const int number : {2, 3}) {
      const auto parts = logged(key, number);
      ASSERT_EQ(parts.size(), 2U);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(parts[i], whole[i], 1e-3) << key << " of run " << number;
      }
    }
  }
}

TEST_F(CosmoFlow, TrainsInBfloat16WhereTheCpuHasIt) {
  const auto half = [](json& c) {
    with_halves(c);
    c["training"]["precision"] = "bf16";
  };
  const Ended ended = run(half, mpirun(2));
  if (ended.status == kUsage) {
    EXPECT_THAT(ended.err, HasSubstr("expected a CPU with avx512_bf16"));
    GTEST_SKIP() << "needs avx512_bf16";
  }
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  // Values have eight significant bits, and an output is a sum of many.
  EXPECT_NEAR(logged("train_loss", 1)[0], logged("train_loss", 2)[0], 0.02);
}

TEST_F(CosmoFlow, WritesOutputsInTheOrderOfTheFilesOnAnyNumberOfRanks) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  json halves = config();
  with_halves(halves);
  std::vector<std::vector<float>> outputs, targets;
  const auto evaluate = [&](int ranks, const json& object) {
    const std::string path =
        (folder_ / ("outputs" + std::to_string(outputs.size()) + ".h5")).string();
    const Ended ended =
        this->evaluate(object, result("1.weights.h5"), "--outputs " + path, mpirun(ranks));
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("RESULT benchmark=cosmoflow metric=eval_error value=0."));
    const staging::H5StateReader reader(path);
    outputs.push_back(reader.read("outputs", {kValidationSamples, 4}));
    targets.push_back(reader.read("labels", {kValidationSamples, 4}));
  };
  evaluate(1, config());
  evaluate(3, config());
  evaluate(2, halves);
  ASSERT_EQ(outputs.size(), 3U);
  double distance = 0.0;
  for (std::size_t i = 0; i < outputs[0].size(); ++i) {
    EXPECT_NEAR(outputs[1][i], outputs[0][i], 1e-5F) << "value " << i;
    EXPECT_NEAR(outputs[2][i], outputs[0][i], 1e-5F) << "value " << i;
    distance += std::abs(static_cast<double>(outputs[0][i] - targets[0][i]));
  }
  EXPECT_EQ(targets[1], targets[0]);
  EXPECT_EQ(targets[2], targets[0]);
  EXPECT_NEAR(distance / static_cast<double>(outputs[0].size()),
              logged("eval_error").back().get<double>(), 1e-6);
  for (int i = 0; i < kValidationSamples; ++i) {
    const std::string bytes = content(file("validation", static_cast<std::size_t>(i)));
    const auto first = reinterpret_cast<const std::byte*>(bytes.data());
    const dataset::Universe truth =
        dataset::decode_universe({first, bytes.size()}, {{kSize, kSize, kSize}, 4}, "sample");
    for (int t = 0; t < 4; ++t) {
      EXPECT_EQ(targets[0][static_cast<std::size_t>(4 * i + t)],
                truth.targets[static_cast<std::size_t>(t)]);
    }
  }
}

TEST_F(CosmoFlow, EvaluatesWithoutTheTrainingSet) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  fs::remove_all(set("train"));
  const Ended ended = evaluate(config(), result("1.weights.h5"), "--json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["value"], logged("eval_error").back());
  EXPECT_EQ(json::parse(ended.out)["samples"], kValidationSamples);
}

TEST_F(CosmoFlow, PlansWithoutTraining) {
  const json whole = plan(config());
  EXPECT_EQ(whole["workload"]["benchmark"], "cosmoflow");
  EXPECT_EQ(whole["workload"]["train_samples"], kTrainSamples);
  EXPECT_EQ(whole["workload"]["target"]["workload_default"], 0.124);
  EXPECT_EQ(whole["schedule"]["steps_per_epoch"], 3);
  EXPECT_EQ(whole["log"]["opt_name"], "sgd");
  EXPECT_TRUE(whole["placement"].is_null());
  EXPECT_EQ(whole["staging"]["train"]["samples"], kTrainSamples);
  EXPECT_EQ(whole["staging"]["validation"]["samples"], kValidationSamples);
  json object = config();
  object["training"]["sample_split"] = {{"auto", true}};
  object["training"]["global_batch_size"] = 1;
  const json shared = plan(object, mpirun(2))["placement"]["sample_split"];
  EXPECT_EQ(shared["ranks_per_sample"], 2);
  EXPECT_EQ(shared["depth_parts"], 2);
  EXPECT_EQ(shared["height_parts"], 1);
  EXPECT_EQ(shared["reason"], "2 ranks share the 1 samples of a pass");
  // A face of 4 channels; in the next volume, a face of 16 channels and one of their gradients.
  EXPECT_EQ(shared["margin_bytes_per_sample"], 4 * (8 * 8 * 4 + 2 * 4 * 4 * 16));
  EXPECT_GT(shared["rank_bytes"], 0);
}

TEST_F(CosmoFlow, PlansWhereTheDataIsNot) {
  json object = config();
  object["dataset"] = {{"train", "/nothing/train"},
                       {"validation", "/nothing/validation"},
                       {"train_samples", 100},
                       {"validation_samples", 10}};
  const json planned = plan(object);
  EXPECT_EQ(planned["workload"]["train_samples"], 100);
  EXPECT_EQ(planned["schedule"]["steps_per_epoch"], 25);
  EXPECT_THAT(planned["staging"]["unknown"].get<std::string>(),
              HasSubstr("/nothing/train: cannot be listed"));
}

TEST_F(CosmoFlow, TellsWhatAClosedSubmissionMustNotChoose) {
  json object = config();
  const auto breaks = [&](const char* division) {
    object["submission"]["division"] = division;
    return breaks_of(plan(object));
  };
  EXPECT_THAT(breaks("closed"),
              IsSupersetOf({"/model/size: must be 128, got 8",
                            "/model/channels: must be [32, 64, 128, 256, 512], got [16, 16]",
                            "/model/dense: must be [128, 64], got [8]"}));
  EXPECT_THAT(breaks("open"), Not(testing::Contains(HasSubstr("/model/"))));
}

TEST_F(CosmoFlow, BreaksNoRuleButThatOfTheTarget) {
  const auto as_submitted = [](json& c) {
    c.erase("target");
    c["submission"] = {{"division", "closed"}, {"org", "someone"}, {"platform", "some machine"}};
    c["schedule"] = {{"learning_rate", 0.001},
                     {"warmup_epochs", 1},
                     {"decay_boundary_epochs", {1}},
                     {"decay_factors", {0.25}}};
  };
  ASSERT_EQ(run(as_submitted, mpirun(2)).status, kTargetMissed);
  EXPECT_THAT(logged("opt_learning_rate_decay_boundary_epochs"), ElementsAre(json{1}));
  for (const char* round : {"hpc-1.0", "hpc-2.0", "hpc-3.0"}) {
    EXPECT_THAT(broken_rules(round), ElementsAre("closed_cosmoflow/eval_error/once"));
  }
  expect_verdict_of_check();
}

TEST_F(CosmoFlow, EndsInTheSameBitsWhenResumed) {
  const auto saving = [](json& c) {
    with_halves(c);
    c["checkpoint"] = {{"every_steps", 2}, {"keep_last", 9}};
    c["dataset"]["flips"] = true;
    c["dataset"]["transposes"] = true;
  };
  ASSERT_EQ(run(saving, mpirun(2)).status, kTargetMissed);
  const auto errors = logged("eval_error");
  const Ended resumed = run(saving, mpirun(2), resume_from("checkpoint_0001_step_2.h5"));
  ASSERT_EQ(resumed.status, kTargetMissed) << resumed.err;
  EXPECT_EQ(content(result("2.weights.h5")), content(result("1.weights.h5")));
  EXPECT_EQ(logged("eval_error", 2), errors);
  const auto other = [&](json& c) {
    saving(c);
    c["model"]["dropout"] = 0.25;
  };
  expect(run(other, mpirun(2), "--resume"), 3,
         HasSubstr("/model/dropout: expected 0.5, found 0.25"));
}

TEST_F(CosmoFlow, HasNothingToDraw) {
  expect(evaluate(config(), "w", "--images x"), kUsage,
         HasSubstr("evaluate: --images means nothing to cosmoflow, only to deepcam"));
}

TEST_F(CosmoFlow, RefusesOptionsOfABenchThatAreAnothers) {
  expect(bench("cosmoflow --image-size 64"), kUsage,
         HasSubstr("bench cosmoflow: --image-size means nothing here, only to resnet50, alexnet"));
  expect(bench("dlrm --size 64"), kUsage,
         HasSubstr("bench dlrm: --size means nothing here, only to cosmoflow"));
  expect(bench("cosmoflow --size 33"), kUsage,
         HasSubstr("bench cosmoflow: --size: must divide by 32, got 33"));
}

}  // namespace

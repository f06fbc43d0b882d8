// Tests of whole runs of the program: reaching the target, outputs, pictures, plans, and checks of
// its logs.
#include <gmock/gmock.h>

#include <cmath>

#include "runner/logged_keys.h"
#include "staging/dataset/dataset.h"
#include "staging/h5.h"
#include "workloads/deepcam/scene_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kSystem;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAreArray;

constexpr std::int64_t kClasses = 3;

class DeepCam : public outside::SceneRun {
 protected:
  static constexpr std::int64_t kPoints = std::int64_t{kHeight} * kWidth;
};

TEST_F(DeepCam, ReachesATargetAndLogsTheKeysOfTheRulesInOrder) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run([](json& c) { c["target"]["quality"] = 0.01; }, before);
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("RESULT benchmark=deepcam metric=time_to_train"),
                                 HasSubstr("status=success"), HasSubstr("epochs=1 ")));
    EXPECT_EQ(keys(), logged_keys::of_one_epoch(
                          {"batchnorm_group_size", "gradient_accumulation_frequency", "opt_name",
                           "opt_lr", "opt_betas", "opt_eps", "opt_weight_decay", "scheduler_type",
                           "scheduler_lr_warmup_steps", "scheduler_lr_warmup_factor",
                           "opt_bias_correction", "opt_grad_averaging", "opt_max_grad_norm",
                           "scheduler_milestones", "scheduler_decay_rate"},
                          "eval_accuracy"));
    EXPECT_THAT(logged("submission_benchmark"), ElementsAre("deepcam"));
    EXPECT_THAT(logged("train_samples"), ElementsAre(kTrainSamples));
    EXPECT_THAT(logged("eval_samples"), ElementsAre(kValidationSamples));
    fs::remove_all(folder_ / "results");
  }
}

/// The old name is accepted for one release.
TEST_F(DeepCam, TakesAKeyUnderItsOldNameAndSaysSoOnce) {
  const auto groups = [](json& c) { c["training"]["batchnorm_group_size"] = 2; };
  const Ended ended = run(groups, mpirun(2));
  const std::string warning =
      "/training/batchnorm_group_size: is called bn_group_ranks now; the next release will not "
      "take the old name";
  expect(ended, kTargetMissed, HasSubstr(warning));
  EXPECT_EQ(ended.err.find(warning, ended.err.find(warning) + 1), std::string::npos) << ended.err;
  EXPECT_THAT(logged("batchnorm_group_size"), ElementsAre(2));
  const json resolved = json::parse(content(result("1.config.json")));
  EXPECT_EQ(resolved["training"]["bn_group_ranks"], 2);
  EXPECT_FALSE(resolved["training"].contains("batchnorm_group_size"));
  expect(run(groups, "", "--set training.bn_group_ranks=2"), kUsage,
         HasSubstr("/training/batchnorm_group_size: stands beside bn_group_ranks, its new name"));
}

TEST_F(DeepCam, TellsThatATargetWasMissed) {
  const Ended ended = run([](json&) {});
  expect(ended, kTargetMissed, HasSubstr("the target 0.999 was not reached"));
  EXPECT_EQ(logged("eval_accuracy").size(), 2U);
}

/// Resuming needs the same number of samples per batch-norm group, on any number of ranks.
TEST_F(DeepCam, GoesOnWithGroupsOfAsManySamplesAlone) {
  const auto groups_of = [](int ranks) {
    return [ranks](json& c) {
      c["training"]["bn_group_ranks"] = ranks;
      c["checkpoint"] = {{"every_steps", 2}};
    };
  };
  ASSERT_EQ(run(groups_of(2), mpirun(2)).status, kTargetMissed);
  const std::string from = resume_from("checkpoint_0003_step_6.h5") + " --set epochs=3";
  expect(run(groups_of(2), mpirun(4), from), kData,
         HasSubstr("saved with other data: /norm_group_samples: expected 4, found 2"));
  for (const int ranks : {1, 4}) {
    const Ended resumed = run(groups_of(ranks), ranks == 1 ? "" : mpirun(ranks), from);
    expect(resumed, kTargetMissed, HasSubstr("resumed after step 6"));
  }
}

TEST_F(DeepCam, TellsBeforeTheFirstStepThatCheckpointsHaveNoPlace) {
  const auto nowhere = [](json& c) {
    c["checkpoint"] = {{"every_steps", 6}, {"directory", "/proc/absent"}};
  };
  const Ended ended = run(nowhere, mpirun(2));
  expect(ended, kSystem, HasSubstr("cannot make the folder /proc/absent/box/deepcam/result_1"));
  EXPECT_THAT(ended.err, Not(HasSubstr("epoch 1/2")));
}

TEST_F(DeepCam, TrainsInBfloat16WhereTheCpuHasIt) {
  const auto half = [](json& c) { c["training"]["precision"] = "bf16"; };
  const Ended ended = run(half, mpirun(2));
  if (ended.status == kUsage) {
    EXPECT_THAT(ended.err, HasSubstr("expected a CPU with avx512_bf16"));
    GTEST_SKIP() << "needs avx512_bf16";
  }
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  ASSERT_EQ(run([](json&) {}, mpirun(2)).status, kTargetMissed);
  const double loss = logged("train_loss", 2)[0];
  EXPECT_NEAR(logged("train_loss", 1)[0], loss, 0.05 * loss);
}

/// The pictures match the outputs and the files.
TEST_F(DeepCam, DrawsTheMasksThatAreThereAboveThoseThatItFound) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  const fs::path pictures = folder_ / "made/pictures";
  const std::string outputs_path = (folder_ / "outputs.h5").string();
  const Ended ended =
      evaluate(config(), result("1.weights.h5"),
               "--images " + pictures.string() + " --outputs " + outputs_path, mpirun(2));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("RESULT benchmark=deepcam metric=eval_accuracy value=0."));
  const staging::H5StateReader reader(outputs_path);
  const std::vector<float> outputs =
      reader.read("outputs", {kValidationSamples, kClasses * kPoints});
  const std::vector<float> labels = reader.read("labels", {kValidationSamples, kPoints});
  using Colour = std::vector<std::uint8_t>;
  const std::vector<Colour> colours = {{24, 24, 32}, {240, 144, 32}, {48, 144, 240}};
  std::set<std::size_t> seen;
  for (std::int64_t sample = 0; sample < kValidationSamples; ++sample) {
    const fs::path path = pictures / ("scene_00000" + std::to_string(sample) + ".png");
    const std::string bytes = content(path);
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    const dataset::Image image =
        dataset::decode_image({first, first + bytes.size()}, path.string());
    ASSERT_EQ(image.height, 2 * kHeight + 4);
    ASSERT_EQ(image.width, kWidth);
    const auto colour = [&](std::int64_t row, std::int64_t column) {
      const auto at = image.pixels.begin() + 3 * (row * kWidth + column);
      return Colour(at, at + 3);
    };
    for (std::int64_t column = 0; column < kWidth; ++column) {
      EXPECT_EQ(colour(kHeight, column), (Colour{255, 255, 255}));
      for (std::int64_t row = 0; row < kHeight; ++row) {
        // The first row of a file is the southernmost.
        const std::int64_t point = (kHeight - 1 - row) * kWidth + column;
        const auto label =
            static_cast<std::size_t>(labels[static_cast<std::size_t>(sample * kPoints + point)]);
        const auto logit = [&](std::int64_t k) {
          return outputs[static_cast<std::size_t>((sample * kClasses + k) * kPoints + point)];
        };
        std::int64_t found = 0;
        for (std::int64_t k = 1; k < kClasses; ++k) found = logit(k) > logit(found) ? k : found;
        ASSERT_EQ(colour(row, column), colours[label]);
        ASSERT_EQ(colour(kHeight + 4 + row, column), colours[static_cast<std::size_t>(found)]);
        seen.insert(label);
      }
    }
  }
  EXPECT_GT(seen.size(), 1U);
}

TEST_F(DeepCam, RefusesPicturesThatItCannotWrite) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  const Ended ended = evaluate(config(), result("1.weights.h5"),
                               "--images " + (folder_ / "config.json/pictures").string());
  expect(ended, kSystem, HasSubstr("config.json/pictures: Not a directory"));
}

TEST_F(DeepCam, EvaluatesWithoutTheTrainingScenes) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  fs::remove_all(set("train"));
  const Ended ended = evaluate(config(), result("1.weights.h5"), "--json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["value"], logged("eval_accuracy").back());
  EXPECT_EQ(json::parse(ended.out)["samples"], kValidationSamples);
}

TEST_F(DeepCam, PlansWithoutTraining) {
  const json planned = plan(config());
  EXPECT_EQ(planned["workload"]["benchmark"], "deepcam");
  EXPECT_EQ(planned["workload"]["train_samples"], kTrainSamples);
  EXPECT_EQ(planned["workload"]["target"]["workload_default"], 0.82);
  EXPECT_EQ(planned["schedule"]["steps_per_epoch"], 3);
  EXPECT_EQ(planned["log"]["opt_name"], "LAMB");
  EXPECT_EQ(planned["staging"]["train"]["samples"], kTrainSamples);
}

TEST_F(DeepCam, TellsWhatAClosedSubmissionMustNotChoose) {
  json object = config();
  object["submission"]["division"] = "closed";
  object["evaluation"]["iou_over"] = "batch";
  object["optimizer"]["epsilon"] = 1e-3;
  const auto breaks = breaks_of(plan(object));
  EXPECT_THAT(breaks, IsSupersetOf({"/model/height: must be 768, got 32",
                                    "/model/widths/conv1: must be 32, got 16",
                                    "/evaluation/iou_over: must be sample, got batch",
                                    "/optimizer/epsilon: opt_eps: must be equal to 1e-06 but for "
                                    "rounding (1e-9), got 0.001"}));
}

TEST_F(DeepCam, BreaksNoRuleButThoseOfSamplesAndTarget) {
  for (const std::string division : {"open", "closed"}) {
    const auto as_submitted = [&](json& c) {
      c.erase("target");
      c["submission"] = {{"division", division}, {"org", "someone"}, {"platform", "some machine"}};
    };
    ASSERT_EQ(run(as_submitted, mpirun(2)).status, kTargetMissed);
    std::vector<std::string> expected = {division + "_deepcam/eval_accuracy/once"};
    if (division == "closed") {
      expected.insert(expected.begin(),
                      {"closed_deepcam/train_samples/value", "closed_deepcam/eval_samples/value"});
    }
    for (const char* round : {"hpc-1.0", "hpc-2.0", "hpc-3.0"}) {
      EXPECT_THAT(broken_rules(round), UnorderedElementsAreArray(expected)) << round;
    }
    expect_verdict_of_check();
    fs::remove_all(folder_ / "results");
  }
}

TEST_F(DeepCam, EndsInTheSameBitsWhenResumed) {
  const auto saving = [](json& c) { c["checkpoint"] = {{"every_steps", 2}, {"keep_last", 9}}; };
  ASSERT_EQ(run(saving, mpirun(2)).status, kTargetMissed);
  const Ended resumed = run(saving, mpirun(2), resume_from("checkpoint_0001_step_2.h5"));
  ASSERT_EQ(resumed.status, kTargetMissed) << resumed.err;
  EXPECT_EQ(content(result("2.weights.h5")), content(result("1.weights.h5")));
  EXPECT_EQ(logged("eval_accuracy", 2), logged("eval_accuracy"));
  const auto other = [&](json& c) {
    saving(c);
    c["evaluation"]["iou_over"] = "batch";
  };
  expect(run(other, mpirun(2), "--resume"), kData,
         HasSubstr("/evaluation/iou_over: expected \"sample\", found \"batch\""));
}

TEST_F(DeepCam, BenchRefusesWhatItCannotDo) {
  expect(bench("deepcam --size 64"), kUsage,
         HasSubstr("bench deepcam: --size means nothing here, only to cosmoflow"));
  expect(bench("deepcam --height 40"), kUsage,
         HasSubstr("bench deepcam: --height: must be a multiple of 16, got 40"));
}

}  // namespace

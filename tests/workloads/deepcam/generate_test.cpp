// Tests of the generator of climate samples: files, determinism, refusals, and resuming.
#include "workloads/deepcam/generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <tuple>

#include "staging/dataset/climate_statistics.h"
#include "workloads/deepcam/climate_simulator.h"
#include "workloads/generate_trial.h"

namespace deepcam {
namespace {

using generate_trial::files_below;
using generate_trial::text_of;
using testing::HasSubstr;
namespace fs = std::filesystem;

class GenerateClimate : public generate_trial::GenerateTest<GenerateOptions, GenerateResult> {
 protected:
  GenerateClimate() : GenerateTest({generate_climate, generate_plan, declare_generate}) {}
  GenerateOptions small() const override {
    GenerateOptions options;
    options.train_samples = 5;
    options.validation_samples = 3;
    options.height = 16;
    options.width = 48;
    return options;
  }
};

TEST_F(GenerateClimate, WritesTheSamplesOfTheSimulatorAndTheirStatistics) {
  const GenerateOptions options = this->options("a");
  const GenerateResult result = generate_climate(options);
  EXPECT_FALSE(result.already_there);
  EXPECT_EQ(result.files, 8);
  auto files = files_below(options.output);
  EXPECT_EQ(files.size(), 10u);
  ClimateSimulator simulator(16, 48);
  dataset::ClimateSample sample;
  dataset::ClimateSummary summary;
  std::int64_t bytes = 0;
  for (const auto& [name, set, samples] : {std::tuple("train", SampleSet::kTrain, 5),
                                           std::tuple("validation", SampleSet::kValidation, 3)}) {
    for (int i = 0; i < samples; ++i) {
      const std::string path = fmt::format("{}/data-{:06}.h5", name, i);
      ASSERT_EQ(files.count(path), 1u) << path;
      simulator.draw(1, set, i, sample);
      EXPECT_TRUE(files[path] == text_of(dataset::encode_climate(sample))) << path;
      bytes += static_cast<std::int64_t>(files[path].size());
      if (set == SampleSet::kTrain) merge(summary, dataset::summarize(sample));
    }
  }
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_TRUE(files["stats.h5"] == text_of(dataset::encode_climate_statistics(summary)));
  EXPECT_NO_THROW(dataset::read_climate_statistics(options.output + "/stats.h5"));
  EXPECT_FALSE(fs::exists(options.output + ".part"));
}

TEST_F(GenerateClimate, TellsWhatItWroteInTheManifest) {
  const GenerateResult result = generate_climate(options("a"));
  const nlohmann::json found = manifest(options("a"));
  EXPECT_EQ(found["generator"], "trainmark generate deepcam");
  EXPECT_EQ(found["train_samples"], 5);
  EXPECT_EQ(found["validation_samples"], 3);
  EXPECT_EQ(found["height"], 16);
  EXPECT_EQ(found["width"], 48);
  EXPECT_EQ(found["seed"], 1);
  EXPECT_EQ(found["files"], 8);
  EXPECT_EQ(found["bytes"], result.bytes);
}

TEST_F(GenerateClimate, DependsOnTheSeedAndNotOnThreads) { expect_files_of_the_seed(); }

TEST_F(GenerateClimate, BeginsALargerSetLikeASmallerOne) {
  GenerateOptions more = options("more");
  more.train_samples = 9;
  generate_climate(options("a"));
  generate_climate(more);
  const auto files = files_below(options("a").output + "/train");
  const auto all = files_below(more.output + "/train");
  EXPECT_EQ(all.size(), 9u);
  for (const auto& [name, text] : files) EXPECT_TRUE(all.at(name) == text) << name;
}

TEST_F(GenerateClimate, LeavesAFinishedDatasetAlone) {
  const auto [first, second] = generate_twice();
  EXPECT_EQ(second.files, first.files);
}

TEST_F(GenerateClimate, ContinuesWhatWasInterrupted) {
  expect_continued([](auto&) {}, "train/data-000003.h5", "train/data-000000.h5");
}

TEST_F(GenerateClimate, StartsOverWhenTheInterruptedRunWasAnother) {
  expect_new_start([](auto& o) { o.seed = 3; });
}

TEST_F(GenerateClimate, RefusesToTouchAnythingElse) {
  expect_untouched([](auto& o) { o.width = 32; });
}

TEST_F(GenerateClimate, RefusesOptionsOutOfRange) {
  EXPECT_THAT(refusal([](auto& o) { o.train_samples = 0; }), HasSubstr("--train-samples: must be"));
  EXPECT_THAT(refusal([](auto& o) { o.validation_samples = -1; }),
              HasSubstr("--validation-samples: must be 0 to"));
  EXPECT_THAT(refusal([](auto& o) { o.height = 24; }),
              HasSubstr("--height: must be a multiple of 16, got 24"));
  EXPECT_THAT(refusal([](auto& o) { o.width = 0; }),
              HasSubstr("--width: must be 16 to 4096, got 0"));
  EXPECT_THAT(refusal([](auto& o) { o.width = 4112; }), HasSubstr("--width: must be 16 to 4096"));
  EXPECT_THAT(refusal([](auto& o) { o.threads = -1; }), HasSubstr("--threads: must be 0 to"));
  EXPECT_THAT(refusal([](auto& o) { o.output = ""; }), HasSubstr("--output"));
}

TEST_F(GenerateClimate, TakesEveryMultipleOfSixteen) {
  for (const std::int64_t extent : {16, 112, 176, 4080}) {
    GenerateOptions options = this->options(std::to_string(extent));
    options.height = extent;
    options.width = 16;
    options.train_samples = 1;
    options.validation_samples = 0;
    EXPECT_EQ(generate_climate(options).files, 1) << extent;
  }
}

TEST_F(GenerateClimate, PlansWithoutWriting) {
  const auto [plan, result] = planned(options("a"));
  EXPECT_EQ(plan["files"], 8);
  EXPECT_GE(plan["memory_bytes"], ClimateSimulator::scratch_bytes(16, 48));
  const auto bytes = static_cast<double>(result.bytes);
  EXPECT_NEAR(plan["estimated_bytes"].get<double>() / bytes, 1.0, 0.01);
}

TEST_F(GenerateClimate, TakesItsOptionsFromTheCommandLine) {
  const std::string output = options("cli").output;
  const nlohmann::json report =
      reported(output + " --train-samples 4 --validation-samples 0 --height 32 --width 16 " +
               "--seed 4 --threads 1");
  EXPECT_EQ(report["files"], 4);
  const nlohmann::json found = manifest(options("cli"));
  EXPECT_EQ(found["height"], 32);
  EXPECT_EQ(found["seed"], 4);
  EXPECT_EQ(files_below(output + "/train").size(), 4u);
  EXPECT_FALSE(fs::exists(output + "/validation"));
}

}  // namespace
}  // namespace deepcam

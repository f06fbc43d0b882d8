// Tests of the generator of universes: files, determinism, refusals, and resuming.
#include "workloads/cosmoflow/generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>
#include <tuple>

#include "workloads/cosmoflow/universe.h"
#include "workloads/generate_trial.h"

namespace cosmoflow {
namespace {

using dataset::UniverseFormat;
using generate_trial::files_below;
using generate_trial::text_of;
using testing::HasSubstr;
namespace fs = std::filesystem;

class GenerateUniverses : public generate_trial::GenerateTest<GenerateOptions, GenerateResult> {
 protected:
  GenerateUniverses() : GenerateTest({generate_universes, generate_plan, declare_generate}) {}
  GenerateOptions small() const override {
    GenerateOptions options;
    options.train_samples = 5;
    options.validation_samples = 3;
    options.size = 8;
    return options;
  }
};

TEST_F(GenerateUniverses, WritesTheUniversesOfTheSimulator) {
  const GenerateOptions options = this->options("a");
  const GenerateResult result = generate_universes(options);
  EXPECT_FALSE(result.already_there);
  EXPECT_EQ(result.files, 8);
  auto files = files_below(options.output);
  EXPECT_EQ(files.size(), 9u);
  Simulator simulator(8, 16.0);
  std::int64_t bytes = 0;
  for (const auto& [name, split, samples] : {std::tuple("train", SampleSet::kTrain, 5),
                                             std::tuple("validation", SampleSet::kValidation, 3)}) {
    for (int i = 0; i < samples; ++i) {
      const std::string path = fmt::format("{}/univ_ics_a{:08}_000.hdf5", name, i);
      ASSERT_EQ(files.count(path), 1u) << path;
      EXPECT_TRUE(files[path] == text_of(dataset::encode_universe(simulator.draw(1, split, i),
                                                                  UniverseFormat::kHdf5)))
          << path;
      bytes += static_cast<std::int64_t>(files[path].size());
    }
  }
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_FALSE(fs::exists(options.output + ".part"));
}

TEST_F(GenerateUniverses, TellsWhatItWroteInTheManifest) {
  GenerateOptions options = this->options("a");
  options.format = UniverseFormat::kTfrecordGzip;
  const GenerateResult result = generate_universes(options);
  const nlohmann::json found = manifest(options);
  EXPECT_EQ(found["generator"], "trainmark generate cosmoflow");
  EXPECT_EQ(found["train_samples"], 5);
  EXPECT_EQ(found["validation_samples"], 3);
  EXPECT_EQ(found["size"], 8);
  EXPECT_EQ(found["box_cells"], 8);
  EXPECT_EQ(found["voxel"], 16.0);
  EXPECT_EQ(found["format"], "tfrecord.gz");
  EXPECT_EQ(found["seed"], 1);
  EXPECT_EQ(found["files"], 8);
  EXPECT_EQ(found["bytes"], result.bytes);
}

TEST_F(GenerateUniverses, WritesEveryFormat) {
  for (const char* name : {"hdf5", "tfrecord", "tfrecord.gz"}) {
    GenerateOptions options = this->options(name);
    options.format = parse_format(name);
    generate_universes(options);
    const std::string file = fmt::format("{}/train/univ_ics_a00000002_000{}", options.output,
                                         dataset::universe_extension(options.format));
    EXPECT_TRUE(base::content(file) ==
                text_of(dataset::encode_universe(Simulator(8, 16.0).draw(1, SampleSet::kTrain, 2),
                                                 options.format)))
        << name;
  }
}

TEST_F(GenerateUniverses, DependsOnTheSeedAndNotOnThreads) { expect_files_of_the_seed(); }

TEST_F(GenerateUniverses, BeginsALargerSetLikeASmallerOne) {
  GenerateOptions more = options("more");
  more.train_samples = 9;
  generate_universes(options("a"));
  generate_universes(more);
  const auto files = files_below(options("a").output + "/train");
  const auto all = files_below(more.output + "/train");
  EXPECT_EQ(all.size(), 9u);
  for (const auto& [name, text] : files) EXPECT_TRUE(all.at(name) == text) << name;
}

TEST_F(GenerateUniverses, CutsBoxesIntoSamples) {
  GenerateOptions cut = options("cut");
  cut.box_cells = 16;
  cut.train_samples = 11;
  generate_universes(cut);
  const auto files = files_below(cut.output + "/train");
  ASSERT_EQ(files.size(), 11u);
  std::vector<std::string> in_order;
  for (const auto& [name, text] : files) in_order.push_back(text);
  EXPECT_EQ(files.count("univ_ics_a00000000_007.hdf5"), 1u);
  EXPECT_EQ(files.count("univ_ics_a00000001_002.hdf5"), 1u);
  Simulator simulator(16, 16.0);
  for (std::int64_t sample = 0; sample < 11; ++sample) {
    const dataset::Universe box = simulator.draw(1, SampleSet::kTrain, sample / 8);
    EXPECT_TRUE(
        in_order[static_cast<std::size_t>(sample)] ==
        text_of(dataset::encode_universe(cut_cube(box, 8, sample % 8), UniverseFormat::kHdf5)))
        << sample;
  }
}

TEST_F(GenerateUniverses, LeavesAFinishedDatasetAlone) {
  const auto [first, second] = generate_twice();
  EXPECT_EQ(second.files, first.files);
}

TEST_F(GenerateUniverses, ContinuesWhatWasInterrupted) {
  const std::string kept = "train/univ_ics_a00000000_000.hdf5";
  expect_continued([](auto& o) { o.box_cells = 8; }, "train/univ_ics_a00000003_000.hdf5", kept);
  expect_continued([](auto& o) { o.box_cells = 16; }, "train/univ_ics_a00000000_003.hdf5", kept);
}

TEST_F(GenerateUniverses, StartsOverWhenTheInterruptedRunWasAnother) {
  expect_new_start([](auto& o) { o.voxel = 3.0; });
}

TEST_F(GenerateUniverses, RefusesToTouchAnythingElse) {
  expect_untouched([](auto& o) { o.format = UniverseFormat::kTfrecord; });
}

TEST_F(GenerateUniverses, RefusesOptionsOutOfRange) {
  EXPECT_THAT(refusal([](auto& o) { o.train_samples = 0; }), HasSubstr("--train-samples: must be"));
  EXPECT_THAT(refusal([](auto& o) { o.validation_samples = -1; }),
              HasSubstr("--validation-samples: must be 0 to"));
  EXPECT_THAT(refusal([](auto& o) { o.size = 4; }), HasSubstr("--size: must be 8 to 256, got 4"));
  EXPECT_THAT(refusal([](auto& o) { o.size = 24; }), HasSubstr("--size: must be a power of 2"));
  for (const std::int64_t box_cells : {0, 4, 24, 128, -8}) {
    EXPECT_THAT(refusal([&](auto& o) { o.box_cells = box_cells; }),
                HasSubstr("--box-cells: must be 8 times a power of 2, at most 64, got"));
  }
  for (const double voxel : {0.0, -1.0, 1e3, std::nan("")}) {
    EXPECT_THAT(refusal([&](auto& o) { o.voxel = voxel; }),
                HasSubstr("--voxel: must be 0.01 to 100, got"));
  }
  EXPECT_THAT(refusal([](auto& o) { o.threads = -1; }), HasSubstr("--threads: must be 0 to"));
  EXPECT_THAT(refusal([](auto& o) { o.output = ""; }), HasSubstr("--output"));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { parse_format("npy"); }),
              HasSubstr("--format: must be hdf5, tfrecord or tfrecord.gz, got 'npy'"));
}

TEST_F(GenerateUniverses, PlansWithoutWriting) {
  for (const char* name : {"hdf5", "tfrecord", "tfrecord.gz"}) {
    GenerateOptions options = this->options(name);
    options.format = parse_format(name);
    options.size = 64;
    options.train_samples = 2;
    options.validation_samples = 1;
    const auto [plan, result] = planned(options);
    EXPECT_EQ(plan["files"], 3);
    EXPECT_GE(plan["memory_bytes"], Simulator::scratch_bytes(64));
    const auto bytes = static_cast<double>(result.bytes);
    EXPECT_NEAR(plan["estimated_bytes"].get<double>() / bytes, 1.0, 0.2) << name;
  }
}

TEST_F(GenerateUniverses, TakesItsOptionsFromTheCommandLine) {
  const std::string output = options("cli").output;
  const nlohmann::json report =
      reported(output + " --train-samples 9 --validation-samples 0 --size 16 --box-cells 32 " +
               "--voxel 2.5 --format tfrecord --seed 4 --threads 1");
  EXPECT_EQ(report["files"], 9);
  const nlohmann::json found = manifest(options("cli"));
  EXPECT_EQ(found["box_cells"], 32);
  EXPECT_EQ(found["voxel"], 2.5);
  EXPECT_EQ(found["seed"], 4);
  EXPECT_EQ(files_below(output + "/train").size(), 9u);
  EXPECT_FALSE(fs::exists(output + "/validation"));
}

}  // namespace
}  // namespace cosmoflow

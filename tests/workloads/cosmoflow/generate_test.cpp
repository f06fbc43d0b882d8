// Tests of the generator of universes: files, determinism, what it refuses and continues.
// Hides nothing.
#include "workloads/cosmoflow/generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "workloads/cosmoflow/universe.h"

namespace cosmoflow {
namespace {

using dataset::UniverseFormat;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// By path below `folder`.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), folder).string()] = text_of(entry.path());
    }
  }
  return files;
}

class GenerateUniverses : public testing::Test {
 protected:
  GenerateOptions options(const std::string& name) const {
    GenerateOptions options;
    options.output = (folder_.path() / name).string();
    options.train_samples = 5;
    options.validation_samples = 3;
    options.size = 8;
    return options;
  }
  nlohmann::json manifest(const GenerateOptions& of) const {
    return nlohmann::json::parse(text_of(of.output + "/manifest.json"));
  }
  const base::TemporaryDirectory folder_;
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
    EXPECT_TRUE(text_of(file) ==
                text_of(dataset::encode_universe(Simulator(8, 16.0).draw(1, SampleSet::kTrain, 2),
                                                 options.format)))
        << name;
  }
}

TEST_F(GenerateUniverses, DependsOnTheSeedAndNotOnThreads) {
  GenerateOptions one = options("one"), many = options("many"), other = options("other");
  one.threads = 1;
  many.threads = 5;
  other.seed = 2;
  for (const auto& each : {one, many, other}) generate_universes(each);
  EXPECT_TRUE(files_below(one.output) == files_below(many.output));
  const auto first = files_below(one.output), third = files_below(other.output);
  for (const auto& [name, text] : first) EXPECT_TRUE(third.at(name) != text) << name;
}

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
  const GenerateResult first = generate_universes(options("a"));
  const auto before = fs::last_write_time(options("a").output + "/manifest.json");
  GenerateOptions again = options("a");
  again.output += "/";
  again.threads = 3;
  const GenerateResult second = generate_universes(again);
  EXPECT_TRUE(second.already_there);
  EXPECT_EQ(second.files, first.files);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_EQ(fs::last_write_time(options("a").output + "/manifest.json"), before);
}

TEST_F(GenerateUniverses, ContinuesWhatWasInterrupted) {
  for (const std::int64_t box_cells : {8, 16}) {
    GenerateOptions whole = options("whole"), continued = options("a");
    whole.box_cells = continued.box_cells = box_cells;
    generate_universes(whole);
    // As an interrupted run leaves it: some files, one half written, the manifest without totals.
    const std::string part = continued.output + ".part";
    fs::copy(whole.output, part, fs::copy_options::recursive);
    fs::remove_all(part + "/validation");
    const std::string name =
        box_cells == 8 ? "/univ_ics_a00000003_000.hdf5" : "/univ_ics_a00000000_003.hdf5";
    const std::string lost = part + "/train" + name;
    fs::rename(lost, lost + "~");
    fs::resize_file(lost + "~", 20);
    nlohmann::json begun = manifest(whole);
    ASSERT_EQ(begun.erase("files") + begun.erase("bytes"), 2u);
    folder_.write("a.part/manifest.json", begun.dump());
    const std::string kept = "/train/univ_ics_a00000000_000.hdf5";
    const auto time = fs::last_write_time(part + kept);

    generate_universes(continued);
    EXPECT_TRUE(files_below(continued.output) == files_below(whole.output)) << box_cells;
    EXPECT_EQ(fs::last_write_time(continued.output + kept), time);
    fs::remove_all(continued.output);
    fs::remove_all(whole.output);
  }
}

TEST_F(GenerateUniverses, StartsOverWhenTheInterruptedRunWasAnother) {
  GenerateOptions other = options("a");
  other.voxel = 3.0;
  other.output = options("a").output + ".part";
  generate_universes(other);
  generate_universes(options("a"));
  generate_universes(options("b"));
  EXPECT_TRUE(files_below(options("a").output) == files_below(options("b").output));
}

TEST_F(GenerateUniverses, RefusesToTouchAnythingElse) {
  folder_.write("mine/thesis.txt", "precious");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_universes(options("mine")); }),
              HasSubstr("mine: is there already and is no generated dataset"));
  folder_.write("b.part/thesis.txt", "precious");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_universes(options("b")); }),
              HasSubstr("b.part: is in the way"));
  generate_universes(options("a"));
  GenerateOptions other = options("a");
  other.format = UniverseFormat::kTfrecord;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_universes(other); }),
              HasSubstr("holds a dataset of other options"));
  EXPECT_EQ(text_of(folder_.path() / "mine/thesis.txt"), "precious");
}

TEST_F(GenerateUniverses, RefusesOptionsOutOfRange) {
  const auto message = [&](auto&& change) {
    GenerateOptions bad = options("a");
    change(bad);
    return base::thrown_message<base::ConfigError>([&] { generate_universes(bad); });
  };
  EXPECT_THAT(message([](auto& o) { o.train_samples = 0; }), HasSubstr("--train-samples: must be"));
  EXPECT_THAT(message([](auto& o) { o.validation_samples = -1; }),
              HasSubstr("--validation-samples: must be 0 to"));
  EXPECT_THAT(message([](auto& o) { o.size = 4; }), HasSubstr("--size: must be 8 to 256, got 4"));
  EXPECT_THAT(message([](auto& o) { o.size = 24; }), HasSubstr("--size: must be a power of 2"));
  for (const std::int64_t box_cells : {0, 4, 24, 128, -8}) {
    EXPECT_THAT(message([&](auto& o) { o.box_cells = box_cells; }),
                HasSubstr("--box-cells: must be 8 times a power of 2, at most 64, got"));
  }
  for (const double voxel : {0.0, -1.0, 1e3, std::nan("")}) {
    EXPECT_THAT(message([&](auto& o) { o.voxel = voxel; }),
                HasSubstr("--voxel: must be 0.01 to 100, got"));
  }
  EXPECT_THAT(message([](auto& o) { o.threads = -1; }), HasSubstr("--threads: must be 0 to"));
  EXPECT_THAT(message([](auto& o) { o.output = ""; }), HasSubstr("--output"));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { parse_format("npy"); }),
              HasSubstr("--format: must be hdf5, tfrecord or tfrecord.gz, got 'npy'"));
  EXPECT_FALSE(fs::exists(options("a").output + ".part"));
}

TEST_F(GenerateUniverses, PlansWithoutWriting) {
  for (const char* name : {"hdf5", "tfrecord", "tfrecord.gz"}) {
    GenerateOptions options = this->options(name);
    options.format = parse_format(name);
    options.size = 64;
    options.train_samples = 2;
    options.validation_samples = 1;
    const nlohmann::json plan = generate_plan(options);
    EXPECT_EQ(plan["files"], 3);
    EXPECT_EQ(plan["already_there"], false);
    EXPECT_GT(plan["free_bytes"], 0);
    EXPECT_GE(plan["memory_bytes"], Simulator::scratch_bytes(64));
    EXPECT_FALSE(fs::exists(options.output));
    const auto bytes = static_cast<double>(generate_universes(options).bytes);
    EXPECT_NEAR(plan["estimated_bytes"].get<double>() / bytes, 1.0, 0.2) << name;
    EXPECT_EQ(generate_plan(options)["already_there"], true);
  }
}

TEST_F(GenerateUniverses, TakesItsOptionsFromTheCommandLine) {
  CLI::App app;
  const auto action = declare_generate(app);
  const std::string output = options("cli").output, report = output + ".json";
  app.parse(output + " --train-samples 9 --validation-samples 0 --size 16 --box-cells 32 " +
                "--voxel 2.5 --format tfrecord --seed 4 --threads 1 --json " + report,
            false);
  EXPECT_EQ(action(), base::ExitCode::kSuccess);
  EXPECT_EQ(nlohmann::json::parse(text_of(report))["files"], 9);
  const nlohmann::json found = manifest(options("cli"));
  EXPECT_EQ(found["box_cells"], 32);
  EXPECT_EQ(found["voxel"], 2.5);
  EXPECT_EQ(found["seed"], 4);
  EXPECT_EQ(files_below(output + "/train").size(), 9u);
  EXPECT_FALSE(fs::exists(output + "/validation"));
}

}  // namespace
}  // namespace cosmoflow

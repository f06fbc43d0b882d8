// Tests of the generator of climate samples: files, determinism, what it refuses and continues.
// Hides nothing.
#include "workloads/deepcam/generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/climate_statistics.h"
#include "workloads/deepcam/climate_simulator.h"

namespace deepcam {
namespace {

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

class GenerateClimate : public testing::Test {
 protected:
  GenerateOptions options(const std::string& name) const {
    GenerateOptions options;
    options.output = (folder_.path() / name).string();
    options.train_samples = 5;
    options.validation_samples = 3;
    options.height = 16;
    options.width = 48;
    return options;
  }
  nlohmann::json manifest(const GenerateOptions& of) const {
    return nlohmann::json::parse(text_of(of.output + "/manifest.json"));
  }
  const base::TemporaryDirectory folder_;
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

TEST_F(GenerateClimate, DependsOnTheSeedAndNotOnThreads) {
  GenerateOptions one = options("one"), many = options("many"), other = options("other");
  one.threads = 1;
  many.threads = 5;
  other.seed = 2;
  for (const auto& each : {one, many, other}) generate_climate(each);
  EXPECT_TRUE(files_below(one.output) == files_below(many.output));
  const auto first = files_below(one.output), third = files_below(other.output);
  for (const auto& [name, text] : first) EXPECT_TRUE(third.at(name) != text) << name;
}

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
  const GenerateResult first = generate_climate(options("a"));
  const auto before = fs::last_write_time(options("a").output + "/manifest.json");
  GenerateOptions again = options("a");
  again.output += "/";
  again.threads = 3;
  const GenerateResult second = generate_climate(again);
  EXPECT_TRUE(second.already_there);
  EXPECT_EQ(second.files, first.files);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_EQ(fs::last_write_time(options("a").output + "/manifest.json"), before);
}

TEST_F(GenerateClimate, ContinuesWhatWasInterrupted) {
  const GenerateOptions whole = options("whole"), continued = options("a");
  generate_climate(whole);
  // As an interrupted run leaves it: some files, one half written, the manifest without totals.
  const std::string part = continued.output + ".part";
  fs::copy(whole.output, part, fs::copy_options::recursive);
  fs::remove_all(part + "/validation");
  fs::remove(part + "/stats.h5");
  const std::string lost = part + "/train/data-000003.h5";
  fs::rename(lost, lost + "~");
  fs::resize_file(lost + "~", 20);
  nlohmann::json begun = manifest(whole);
  ASSERT_EQ(begun.erase("files") + begun.erase("bytes"), 2u);
  folder_.write("a.part/manifest.json", begun.dump());
  const std::string kept = "/train/data-000000.h5";
  const auto time = fs::last_write_time(part + kept);

  generate_climate(continued);
  EXPECT_TRUE(files_below(continued.output) == files_below(whole.output));
  EXPECT_EQ(fs::last_write_time(continued.output + kept), time);
}

TEST_F(GenerateClimate, StartsOverWhenTheInterruptedRunWasAnother) {
  GenerateOptions other = options("a");
  other.seed = 3;
  other.output = options("a").output + ".part";
  generate_climate(other);
  generate_climate(options("a"));
  generate_climate(options("b"));
  EXPECT_TRUE(files_below(options("a").output) == files_below(options("b").output));
}

TEST_F(GenerateClimate, RefusesToTouchAnythingElse) {
  folder_.write("mine/thesis.txt", "precious");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_climate(options("mine")); }),
              HasSubstr("mine: is there already and is no generated dataset"));
  generate_climate(options("a"));
  GenerateOptions other = options("a");
  other.width = 32;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_climate(other); }),
              HasSubstr("holds a dataset of other options"));
  EXPECT_EQ(text_of(folder_.path() / "mine/thesis.txt"), "precious");
}

TEST_F(GenerateClimate, RefusesOptionsOutOfRange) {
  const auto message = [&](auto&& change) {
    GenerateOptions bad = options("a");
    change(bad);
    return base::thrown_message<base::ConfigError>([&] { generate_climate(bad); });
  };
  EXPECT_THAT(message([](auto& o) { o.train_samples = 0; }), HasSubstr("--train-samples: must be"));
  EXPECT_THAT(message([](auto& o) { o.validation_samples = -1; }),
              HasSubstr("--validation-samples: must be 0 to"));
  EXPECT_THAT(message([](auto& o) { o.height = 24; }),
              HasSubstr("--height: must be a multiple of 16, got 24"));
  EXPECT_THAT(message([](auto& o) { o.width = 0; }),
              HasSubstr("--width: must be 16 to 4096, got 0"));
  EXPECT_THAT(message([](auto& o) { o.width = 4112; }), HasSubstr("--width: must be 16 to 4096"));
  EXPECT_THAT(message([](auto& o) { o.threads = -1; }), HasSubstr("--threads: must be 0 to"));
  EXPECT_THAT(message([](auto& o) { o.output = ""; }), HasSubstr("--output"));
  EXPECT_FALSE(fs::exists(options("a").output + ".part"));
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
  const GenerateOptions options = this->options("a");
  const nlohmann::json plan = generate_plan(options);
  EXPECT_EQ(plan["files"], 8);
  EXPECT_EQ(plan["already_there"], false);
  EXPECT_GT(plan["free_bytes"], 0);
  EXPECT_GE(plan["memory_bytes"], ClimateSimulator::scratch_bytes(16, 48));
  EXPECT_FALSE(fs::exists(options.output));
  const auto bytes = static_cast<double>(generate_climate(options).bytes);
  EXPECT_NEAR(plan["estimated_bytes"].get<double>() / bytes, 1.0, 0.01);
  EXPECT_EQ(generate_plan(options)["already_there"], true);
}

TEST_F(GenerateClimate, TakesItsOptionsFromTheCommandLine) {
  CLI::App app;
  const auto action = declare_generate(app);
  const std::string output = options("cli").output, report = output + ".json";
  app.parse(output + " --train-samples 4 --validation-samples 0 --height 32 --width 16 --seed 4 " +
                "--threads 1 --json " + report,
            false);
  EXPECT_EQ(action(), base::ExitCode::kSuccess);
  EXPECT_EQ(nlohmann::json::parse(text_of(report))["files"], 4);
  const nlohmann::json found = manifest(options("cli"));
  EXPECT_EQ(found["height"], 32);
  EXPECT_EQ(found["seed"], 4);
  EXPECT_EQ(files_below(output + "/train").size(), 4u);
  EXPECT_FALSE(fs::exists(output + "/validation"));
}

}  // namespace
}  // namespace deepcam

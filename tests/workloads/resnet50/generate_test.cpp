// Tests of the dataset generator: layout, determinism, what it refuses and continues.
// Hides nothing.
#include "workloads/resnet50/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/open.h"

namespace resnet50 {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), folder).string()] = text_of(entry.path());
    }
  }
  return files;
}

class Generate : public testing::Test {
 protected:
  GenerateOptions options(const std::string& name) const {
    GenerateOptions options;
    options.output = (folder_.path() / name).string();
    options.train_per_class = 3;
    options.validation_per_class = 2;
    return options;
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(Generate, WritesClassFoldersThatTheReaderOpens) {
  const GenerateResult result = generate_images(options("a"));
  EXPECT_EQ(result.files, 8 * 5);
  EXPECT_FALSE(result.already_there);
  const auto train = dataset::open_dataset(options("a").output + "/train");
  EXPECT_EQ(train->size(), 24);
  EXPECT_EQ(train->class_names().size(), 8u);
  EXPECT_EQ(train->class_names()[7], "n00000008");
  EXPECT_EQ(dataset::open_dataset(options("a").output + "/validation")->size(), 16);
  std::vector<std::byte> bytes;
  train->read(5, bytes);
  EXPECT_EQ(dataset::decode_image(bytes, train->name(5)).height, 32);
  EXPECT_FALSE(fs::exists(options("a").output + ".part"));
}

TEST_F(Generate, DependsOnTheSeedAndNotOnThreads) {
  GenerateOptions one = options("one"), many = options("many"), other = options("other");
  one.threads = 1;
  many.threads = 5;
  other.seed = 2;
  for (const auto& each : {one, many, other}) generate_images(each);
  auto first = files_below(one.output), second = files_below(many.output);
  EXPECT_EQ(first, second);
  const auto third = files_below(other.output);
  for (const auto& [name, text] : first) EXPECT_NE(third.at(name), text) << name;
}

TEST_F(Generate, WritesTheSameImagesAsArchives) {
  GenerateOptions tar = options("tar"), folders = options("folders");
  tar.tar = true;
  generate_images(tar);
  generate_images(folders);
  for (const std::string split : {"train", "validation"}) {
    const auto a = dataset::open_dataset(tar.output + "/" + split + ".tar");
    const auto b = dataset::open_dataset(folders.output + "/" + split);
    ASSERT_EQ(a->size(), b->size());
    EXPECT_EQ(a->class_names(), b->class_names());
    for (std::int64_t i = 0; i < a->size(); ++i) {
      std::vector<std::byte> x, y;
      a->read(i, x);
      b->read(i, y);
      EXPECT_EQ(x, y);
      EXPECT_EQ(a->label(i), b->label(i));
    }
  }
}

TEST_F(Generate, LeavesAFinishedDatasetAlone) {
  const GenerateResult first = generate_images(options("a"));
  const auto before = fs::last_write_time(options("a").output + "/dataset.json");
  const GenerateResult again = generate_images(options("a"));
  EXPECT_TRUE(again.already_there);
  EXPECT_EQ(again.bytes, first.bytes);
  EXPECT_EQ(fs::last_write_time(options("a").output + "/dataset.json"), before);
}

TEST_F(Generate, ContinuesWhatWasInterrupted) {
  generate_images(options("whole"));
  const auto whole = files_below(options("whole").output);
  // As an interrupted run leaves it: some files, one half written, the manifest without totals.
  const std::string part = options("a").output + ".part";
  fs::copy(options("whole").output, part, fs::copy_options::recursive);
  fs::remove_all(part + "/validation");
  const std::string lost = part + "/train/n00000002/n00000002_1.JPEG";
  fs::rename(lost, lost + "~");
  fs::resize_file(lost + "~", 20);
  auto manifest = nlohmann::json::parse(text_of(part + "/dataset.json"));
  manifest.erase("files");
  manifest.erase("bytes");
  std::ofstream(part + "/dataset.json") << manifest;
  const std::string kept = part + "/train/n00000001/n00000001_0.JPEG";
  const auto time = fs::last_write_time(kept);

  const GenerateResult result = generate_images(options("a"));
  EXPECT_EQ(result.files, 40);
  EXPECT_EQ(files_below(options("a").output), whole);
  EXPECT_EQ(fs::last_write_time(options("a").output + "/train/n00000001/n00000001_0.JPEG"), time);
}

TEST_F(Generate, StartsOverWhenTheInterruptedRunWasAnother) {
  GenerateOptions other = options("a");
  other.seed = 9;
  other.output = options("a").output + ".part";
  generate_images(other);
  generate_images(options("a"));
  generate_images(options("b"));
  EXPECT_EQ(files_below(options("a").output), files_below(options("b").output));
}

TEST_F(Generate, RefusesToTouchAnythingElse) {
  folder_.write("mine/thesis.txt", "precious");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_images(options("mine")); }),
              HasSubstr("mine: is there already and is no generated dataset"));
  folder_.write("b.part/thesis.txt", "precious");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_images(options("b")); }),
              HasSubstr("b.part: is in the way"));
  generate_images(options("a"));
  GenerateOptions other = options("a");
  other.classes = 4;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_images(other); }),
              HasSubstr("holds a dataset of other options"));
  EXPECT_EQ(text_of(folder_.path() / "mine/thesis.txt"), "precious");
}

TEST_F(Generate, RefusesOptionsOutOfRange) {
  const auto message = [&](auto&& change) {
    GenerateOptions bad = options("a");
    change(bad);
    return base::thrown_message<base::ConfigError>([&] { generate_images(bad); });
  };
  EXPECT_THAT(message([](auto& o) { o.classes = 1; }),
              HasSubstr("--classes: must be 2 to 1000, got 1"));
  EXPECT_THAT(message([](auto& o) { o.image_size = 4; }), HasSubstr("--image-size: must be 8"));
  EXPECT_THAT(message([](auto& o) { o.train_per_class = 0; }), HasSubstr("--train-per-class"));
  EXPECT_THAT(message([](auto& o) { o.output = ""; }), HasSubstr("--output"));
}

TEST_F(Generate, PlansWithoutWriting) {
  const nlohmann::json plan = generate_plan(options("a"));
  EXPECT_EQ(plan["files"], 40);
  EXPECT_EQ(plan["already_there"], false);
  EXPECT_GT(plan["free_bytes"], 0);
  EXPECT_FALSE(fs::exists(options("a").output));
  const GenerateResult result = generate_images(options("a"));
  EXPECT_NEAR(plan["estimated_bytes"].get<double>(), static_cast<double>(result.bytes),
              0.2 * static_cast<double>(result.bytes));
  EXPECT_EQ(generate_plan(options("a"))["already_there"], true);
}

TEST_F(Generate, TakesItsOptionsFromTheCommandLine) {
  CLI::App app;
  const auto action = declare_generate(app);
  const std::string output = options("cli").output, report = output + ".json";
  app.parse("--output " + output + " --classes 3 --train-per-class 2 --validation-per-class 1 " +
                "--image-size 16 --seed 4 --tar --json " + report,
            false);
  EXPECT_EQ(action(), base::ExitCode::kSuccess);
  EXPECT_EQ(nlohmann::json::parse(text_of(report))["files"], 9);
  EXPECT_EQ(dataset::open_dataset(output + "/train.tar")->size(), 6);
}

}  // namespace
}  // namespace resnet50

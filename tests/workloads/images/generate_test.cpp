// Tests of the dataset generator: layout, determinism, refusals, and resuming.
#include "workloads/images/generate.h"

#include <gmock/gmock.h>

#include "staging/dataset/open.h"
#include "workloads/generate_trial.h"

namespace images {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Generate : public generate_trial::GenerateTest<GenerateOptions, GenerateResult> {
 protected:
  Generate() : GenerateTest({generate_images, generate_plan, declare_generate, "dataset.json"}) {}
  GenerateOptions small() const override {
    GenerateOptions options;
    options.train_per_class = 3;
    options.validation_per_class = 2;
    return options;
  }
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

TEST_F(Generate, DependsOnTheSeedAndNotOnThreads) { expect_files_of_the_seed(); }

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

TEST_F(Generate, LeavesAFinishedDatasetAlone) { generate_twice(); }

TEST_F(Generate, ContinuesWhatWasInterrupted) {
  expect_continued([](auto&) {}, "train/n00000002/n00000002_1.JPEG",
                   "train/n00000001/n00000001_0.JPEG");
}

TEST_F(Generate, StartsOverWhenTheInterruptedRunWasAnother) {
  expect_new_start([](auto& o) { o.seed = 9; });
}

TEST_F(Generate, RefusesToTouchAnythingElse) {
  expect_untouched([](auto& o) { o.classes = 4; });
}

TEST_F(Generate, RefusesOptionsOutOfRange) {
  EXPECT_THAT(refusal([](auto& o) { o.classes = 1; }),
              HasSubstr("--classes: must be 2 to 1000, got 1"));
  EXPECT_THAT(refusal([](auto& o) { o.image_size = 4; }), HasSubstr("--image-size: must be 8"));
  EXPECT_THAT(refusal([](auto& o) { o.train_per_class = 0; }), HasSubstr("--train-per-class"));
  EXPECT_THAT(refusal([](auto& o) { o.output = ""; }), HasSubstr("--output"));
}

TEST_F(Generate, PlansWithoutWriting) {
  const auto [plan, result] = planned(options("a"));
  EXPECT_EQ(plan["files"], 40);
  EXPECT_NEAR(plan["estimated_bytes"].get<double>(), static_cast<double>(result.bytes),
              0.2 * static_cast<double>(result.bytes));
}

TEST_F(Generate, TakesItsFolderAsItsHelpShows) {
  const std::string output = options("cli").output;
  reported(output + " --classes 2 --train-per-class 1 --validation-per-class 1 --image-size 16");
  EXPECT_EQ(dataset::open_dataset(output + "/train")->size(), 2);
}

TEST_F(Generate, TakesItsOptionsFromTheCommandLine) {
  const std::string output = options("cli").output;
  const nlohmann::json report =
      reported("--output " + output + " --classes 3 --train-per-class 2 " +
               "--validation-per-class 1 --image-size 16 --seed 4 --tar");
  EXPECT_EQ(report["files"], 9);
  EXPECT_EQ(dataset::open_dataset(output + "/train.tar")->size(), 6);
}

}  // namespace
}  // namespace images

// Tests of user errors with scenes: message and exit code of the program, on one rank and on two.
#include <gmock/gmock.h>

#include <limits>

#include "workloads/deepcam/scene_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BadScenes : public outside::SceneRun {
 protected:
  /// Replaces a file by `scene`.
  fs::path replace(const std::string& part, std::size_t index,
                   const dataset::ClimateSample& scene) const {
    const fs::path path = file(part, index);
    write(path, dataset::encode_climate(scene));
    return path;
  }
};

TEST_F(BadScenes, MissingFolders) {
  for (const char* part : {"train", "validation"}) {
    const auto nowhere = [&](json& c) {
      c["dataset"][part] = "/nothing/here";
      c["dataset"]["statistics"] = (folder_ / "data/stats.h5").string();
    };
    expect_everywhere(nowhere, kData, HasSubstr("/nothing/here: cannot be listed: No such file"));
  }
}

TEST_F(BadScenes, MissingStatistics) {
  fs::remove(folder_ / "data/stats.h5");
  expect_everywhere(kData, AllOf(HasSubstr("data/stats.h5: "), HasSubstr("No such file")));
}

TEST_F(BadScenes, StatisticsThatAreNone) {
  std::ofstream(folder_ / "data/stats.h5") << "hello";
  expect_everywhere(kData, HasSubstr("data/stats.h5: "));
}

TEST_F(BadScenes, FolderWithoutScenes) {
  fs::remove_all(set("validation"));
  fs::create_directories(set("validation"));
  expect_everywhere(kData, AllOf(HasSubstr("data/validation: "), HasSubstr("found none")));
}

TEST_F(BadScenes, ScenesOfAnotherSize) {
  const auto larger = [](json& c) { c["model"]["height"] = 48; };
  expect_everywhere(larger, kData,
                    AllOf(HasSubstr("climate/data: expected "), HasSubstr("[48, 48, 16]")));
}

TEST_F(BadScenes, OneSceneOfAnotherSize) {
  const fs::path path = replace("train", 7, scene(16));
  expect_in_place(kData, AllOf(HasSubstr(path.string() + ": climate/data: expected "),
                               HasSubstr("[16, 48, 16]")));
}

TEST_F(BadScenes, ValueThatIsNoNumber) {
  dataset::ClimateSample bad = scene();
  bad.values[777] = std::numeric_limits<float>::quiet_NaN();
  const fs::path path = replace("validation", 3, bad);
  expect_everywhere(kData, AllOf(HasSubstr(path.string() + ": climate/data"), HasSubstr("nan")));
}

TEST_F(BadScenes, LabelOfNoClass) {
  dataset::ClimateSample bad = scene();
  bad.labels[100] = 3;
  const fs::path path = replace("train", 2, bad);
  expect_everywhere(kData, AllOf(HasSubstr(path.string() + ": climate/labels_0"), HasSubstr("3")));
}

TEST_F(BadScenes, FilesThatEndEarly) {
  std::vector<std::byte> bytes = dataset::encode_climate(scene());
  bytes.resize(bytes.size() / 2);
  const fs::path path = file("train", 5);
  write(path, bytes);
  expect_in_place(kData, HasSubstr(path.string() + ": "));
  write(path, {});
  expect_everywhere(kData, HasSubstr(path.string() + ": "));
}

TEST_F(BadScenes, FewerScenesThanABatch) {
  const auto large = [](json& c) { c["training"]["global_batch_size"] = 14; };
  expect_everywhere(large, kUsage, HasSubstr("12 samples, fewer than its 14 places in a batch"));
}

TEST_F(BadScenes, OtherCountsThanConfigured) {
  const auto counts = [](json& c) {
    c["dataset"]["train_samples"] = kTrainSamples + 1;
    c["dataset"]["validation_samples"] = kValidationSamples;
  };
  expect_everywhere(counts, kData,
                    HasSubstr("data/train: /dataset/train_samples: expected 13 samples, found 12"));
}

TEST_F(BadScenes, GroupsOfBatchNormThatRanksCannotForm) {
  const auto groups = [](json& c) { c["training"]["bn_group_ranks"] = 3; };
  expect_everywhere(groups, kUsage,
                    AllOf(HasSubstr("/training/bn_group_ranks: must divide the "),
                          HasSubstr(" ranks, got 3"), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadScenes, PrecisionThatTheCpuLacks) {
  const auto half = [](json& c) { c["training"]["precision"] = "bf16"; };
  expect_everywhere(half, kUsage,
                    HasSubstr("precision bf16: expected a CPU with avx512_bf16, this one offers "
                              "avx2; f32 runs everywhere"),
                    "TRAINMARK_MAX_ISA=avx2 ");
}

TEST_F(BadScenes, RateThatDiverges) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run([](json& c) { c["schedule"]["learning_rate"] = 1e300; }, before);
    expect(ended, kTargetMissed, HasSubstr("the loss is not finite at step "));
    EXPECT_TRUE(all_end());
    EXPECT_THAT(content(result("1.txt")), HasSubstr("\"status\": \"aborted\""));
    fs::remove_all(folder_ / "results");
  }
}

/// The only step's loss is finite; the weights after it are not.
TEST_F(BadScenes, OneStepThatDiverges) {
  const Ended ended = run([](json& c) {
    c["epochs"] = 1;
    c["training"]["global_batch_size"] = kTrainSamples;
    c["schedule"]["learning_rate"] = 1e38;
  });
  expect(ended, kTargetMissed, HasSubstr("the quality is not finite after epoch 1/1"));
}

}  // namespace

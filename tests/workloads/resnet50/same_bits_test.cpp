// Two runs of the program with one seed, byte by byte, and one with another seed.
// Hides where a run's files lie.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launch.h"
#include "runner/base/temporary_directory.h"
#include "workloads/resnet50/generate.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What a run computed, without what it measured.
struct Result {
  std::string weights;            ///< the bytes of the weights file
  std::vector<json> evaluations;  ///< value and place of eval_accuracy and train_loss, in order
};

class SameBits : public testing::Test {
 protected:
  void SetUp() override {
    resnet50::GenerateOptions options;
    options.output = (folder_.path() / "data").string();
    options.classes = 3;
    options.train_per_class = 24;
    options.validation_per_class = 7;
    options.threads = 1;
    resnet50::generate_images(options);
  }

  std::string write_config(const std::string& name, int seed) const {
    const json config = {
        {"workload", "resnet50"},
        {"seed", seed},
        {"epochs", 2},
        {"threads", 1},
        {"clear_caches", "never"},
        {"target", {{"quality", 1.0}}},
        {"evaluation", {{"every_epochs", 1}}},
        {"results", {{"directory", (folder_.path() / name).string()}, {"system", "box"}}},
        {"dataset",
         {{"train", (folder_.path() / "data/train").string()},
          {"validation", (folder_.path() / "data/validation").string()},
          {"preprocess", "cifar"}}},
        {"staging", {{"directory", (folder_.path() / "staged").string()}}},
        {"model", {{"image_size", 32}, {"classes", 3}, {"depth", 26}, {"width", 16}}},
        // Of three groups of statistics the one in the middle lies on both ranks.
        {"training", {{"global_batch_size", 24}, {"bn_group_size", 8}, {"label_smoothing", 0.1}}},
        {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}, {"weight_decay", 0.0005}}},
        {"schedule", {{"learning_rate", 0.05}}}};
    return folder_.write(name + ".json", config.dump());
  }

  Result run_on_two_ranks(const std::string& name, int seed) const {
    const outside::Ended run = outside::shell(
        outside::mpirun(2) + TRAINMARK " run " + write_config(name, seed), folder_.path());
    const fs::path result = folder_.path() / name / "box" / "resnet50" / "result_1";
    EXPECT_TRUE(fs::exists(result.string() + ".weights.h5")) << run.status << ": " << run.err;
    return {outside::content(result.string() + ".weights.h5"),
            evaluations(result.string() + ".txt")};
  }

  static std::vector<json> evaluations(const fs::path& log) {
    std::vector<json> found;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      const std::size_t begin = line.find('{');
      if (begin == std::string::npos) continue;
      const json record = json::parse(line.substr(begin));
      const std::string key = record["key"];
      if (key != "eval_accuracy" && key != "train_loss") continue;
      found.push_back({key, record["value"], record["metadata"]["epoch_num"]});
    }
    return found;
  }

  const base::TemporaryDirectory folder_;
};

TEST_F(SameBits, ComeOutOfTwoRunsWithOneSeed) {
  const Result first = run_on_two_ranks("first", 7);
  ASSERT_EQ(first.evaluations.size(), 4U);  // two epochs, loss and accuracy of each
  const Result again = run_on_two_ranks("again", 7);
  EXPECT_TRUE(first.weights == again.weights) << "the weights files differ";
  EXPECT_EQ(first.evaluations, again.evaluations);
  const Result other = run_on_two_ranks("other", 8);
  EXPECT_EQ(other.weights.size(), first.weights.size());
  EXPECT_FALSE(first.weights == other.weights) << "the seed has no effect";
  EXPECT_NE(first.evaluations, other.evaluations);
}

}  // namespace

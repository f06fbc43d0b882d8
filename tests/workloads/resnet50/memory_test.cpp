// Compares the memory plan with the memory that a run of the program takes.
#include <gtest/gtest.h>

#include "runner/generated_run.h"

namespace {

using nlohmann::json;

class Memory : public outside::GeneratedRun {
 protected:
  Memory() : GeneratedRun("resnet50", images(kMany)) {}
  void SetUp() override {
    GeneratedRun::SetUp();
    ASSERT_EQ(generate("few", images(kFew)).status, 0);
  }
  static constexpr std::int64_t kFew = 32, kMany = 64;
  static std::string images(std::int64_t count) {
    return "--classes 2 --validation-per-class 1 --train-per-class " + std::to_string(count / 2);
  }

  json config() const override {
    json config = usual_config();
    config["epochs"] = 1;
    config["target"] = {{"quality", 1.0}};
    config["dataset"]["prefetch_batches"] = 1;
    config["staging"] = {{"mode", "stream"}};
    config["model"] = {{"image_size", 80}, {"classes", 2}};
    config["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
    config["schedule"] = {{"learning_rate", 0.05}};
    return config;
  }
  /// A run of one step of `batch` images.
  json config_of(std::int64_t batch, const std::string& recompute) const {
    json object = config();
    if (batch == kFew) object["dataset"]["train"] = (folder_ / "few/train").string();
    object["training"] = {{"global_batch_size", batch}, {"recompute", recompute}};
    return object;
  }
};

/// Compares two batch sizes, since the difference excludes the program itself and its libraries.
TEST_F(Memory, IsTakenAsPlanned) {
  for (const std::string recompute : {"none", "normalizations"}) {
    const Bytes small = bytes_of(config_of(kFew, recompute), 1);
    const Bytes large = bytes_of(config_of(kMany, recompute), 1);
    const double planned = large.planned - small.planned;
    EXPECT_GT(planned, 150e6) << recompute;
    EXPECT_NEAR((large.taken - small.taken) / planned, 1.0, 0.2) << recompute;
    EXPECT_GT(large.taken, large.planned) << recompute;
  }
}

}  // namespace

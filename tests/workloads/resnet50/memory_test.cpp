// The plan of memory, held against what a run of the program takes.
// Hides nothing.
#include <gtest/gtest.h>

#include "runner/generated_run.h"

namespace {

using nlohmann::json;

class Memory : public outside::GeneratedRun {
 protected:
  Memory()
      : GeneratedRun("resnet50", "--classes 3 --train-per-class 64 --validation-per-class 2") {}

  json config() const override {
    json config = usual_config();
    config["epochs"] = 1;
    config["target"] = {{"quality", 1.0}};
    config["dataset"]["prefetch_batches"] = 1;
    config["staging"] = {{"mode", "none"}};
    config["model"] = {{"image_size", 64}, {"classes", 3}};
    config["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
    config["schedule"] = {{"learning_rate", 0.05}};
    return config;
  }
  json config_of(std::int64_t batch, const std::string& recompute) const {
    json object = config();
    object["training"] = {{"global_batch_size", batch}, {"recompute", recompute}};
    return object;
  }
};

/// The difference of two batches, which is free of the program itself and its libraries.
TEST_F(Memory, IsTakenAsPlanned) {
  for (const std::string recompute : {"none", "normalizations"}) {
    const Bytes small = bytes_of(config_of(32, recompute), 1);
    const Bytes large = bytes_of(config_of(192, recompute), 1);
    const double planned = large.planned - small.planned;
    EXPECT_GT(planned, 400e6) << recompute;
    EXPECT_NEAR((large.taken - small.taken) / planned, 1.0, 0.2) << recompute;
    EXPECT_GT(large.taken, large.planned) << recompute;
  }
}

}  // namespace

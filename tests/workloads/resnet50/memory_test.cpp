// The plan of memory, held against what a run of the program takes.
// Hides where a run's files lie.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "launch.h"
#include "runner/base/temporary_directory.h"
#include "workloads/resnet50/generate.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    resnet50::GenerateOptions options;
    options.output = (folder_.path() / "data").string();
    options.classes = 3;
    options.train_per_class = 64;
    options.validation_per_class = 2;
    options.threads = 1;
    resnet50::generate_images(options);
  }

  std::string write_config(std::int64_t batch, const std::string& recompute) const {
    const std::string name = std::to_string(batch) + recompute;
    const json config = {
        {"workload", "resnet50"},
        {"epochs", 1},
        {"threads", 1},
        {"clear_caches", "never"},
        {"target", {{"quality", 1.0}}},
        {"results", {{"directory", (folder_.path() / name).string()}, {"system", "box"}}},
        {"dataset",
         {{"train", (folder_.path() / "data/train").string()},
          {"validation", (folder_.path() / "data/validation").string()},
          {"prefetch_batches", 1}}},
        {"staging", {{"mode", "none"}}},
        {"model", {{"image_size", 64}, {"classes", 3}}},
        {"training", {{"global_batch_size", batch}, {"recompute", recompute}}},
        {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
        {"schedule", {{"learning_rate", 0.05}}}};
    return folder_.write(name + ".json", config.dump());
  }

  /// Bytes that the plan gives a rank, and what a run took at most.
  struct Bytes {
    double planned = 0.0, taken = 0.0;
  };
  Bytes bytes_of(std::int64_t batch, const std::string& recompute) const {
    const std::string config = write_config(batch, recompute);
    const outside::Ended plan =
        outside::shell(TRAINMARK " config --memory --json - " + config, folder_.path());
    EXPECT_EQ(plan.status, 0) << plan.err;
    const outside::Ended run =
        outside::shell(outside::mpirun(1) + TRAINMARK " run " + config, folder_.path());
    const fs::path telemetry = folder_.path() / (std::to_string(batch) + recompute) / "box" /
                               "resnet50" / "result_1.telemetry.json";
    EXPECT_TRUE(fs::exists(telemetry)) << run.status << ": " << run.err;
    const json report = json::parse(outside::content(telemetry));
    return {json::parse(plan.out).at("total_bytes"), report.at("ranks").at(0).at("peak_rss_bytes")};
  }

  const base::TemporaryDirectory folder_;
};

/// The difference of two batches, which is free of the program itself and its libraries.
TEST_F(Memory, IsTakenAsPlanned) {
  for (const std::string recompute : {"none", "normalizations"}) {
    const Bytes small = bytes_of(32, recompute), large = bytes_of(192, recompute);
    const double planned = large.planned - small.planned;
    EXPECT_GT(planned, 400e6) << recompute;
    EXPECT_NEAR((large.taken - small.taken) / planned, 1.0, 0.2) << recompute;
    EXPECT_GT(large.taken, large.planned) << recompute;
  }
}

}  // namespace

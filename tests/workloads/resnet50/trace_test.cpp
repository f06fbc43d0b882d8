// A trace of the program's run: layers, and how sums of gradients hide behind the backward pass.
// Hides where a run's files lie.
#include <gmock/gmock.h>

#include <fstream>

#include "runner/from_outside.h"
#include "trace_checks.h"

namespace {

using nlohmann::json;
using outside::Ended;

constexpr int kTargetMissed = 6;

using ResNet50Trace = outside::ProgramTest;

TEST_F(ResNet50Trace, HasLayersAndTransfersOfEveryRank) {
  const Ended made =
      shell(std::string(TRAINMARK) + " generate resnet50 --classes 2 --train-per-class 24 " +
            "--validation-per-class 4 --image-size 32 --threads 1 --output " +
            (folder_ / "data").string());
  ASSERT_EQ(made.status, 0) << made.err;
  const json config = {
      {"workload", "resnet50"},
      {"seed", 5},
      {"epochs", 2},
      {"threads", 1},
      {"clear_caches", "never"},
      {"target", {{"quality", 1.5}}},
      {"results", {{"directory", (folder_ / "results").string()}, {"system", "box"}}},
      {"dataset",
       {{"train", (folder_ / "data/train").string()},
        {"validation", (folder_ / "data/validation").string()},
        {"preprocess", "cifar"}}},
      {"staging", {{"directory", (folder_ / "staged").string()}}},
      {"model", {{"image_size", 32}, {"classes", 2}, {"depth", 26}, {"width", 16}}},
      // Each step takes two passes; of the second one's gradients some are early.
      {"training",
       {{"global_batch_size", 24}, {"bn_group_size", 4}, {"gradient_accumulation_steps", 2}}},
      {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
      {"schedule", {{"learning_rate", 0.05}}}};
  std::ofstream(folder_ / "config.json") << config;
  const Ended ended = shell(outside::mpirun(2) + TRAINMARK " run " +
                            (folder_ / "config.json").string() + " --trace 1:4");
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  const auto result = folder_ / "results/box/resnet50";
  const auto read = telemetry::read_trace(result / "result_1.trace.json");
  ASSERT_EQ(read.size(), 2U);
  telemetry::expect_whole_trace(read, 1, 4);
  telemetry::expect_steps_of_scopes(read);
  telemetry::expect_same_account(
      read, telemetry::read_report((result / "result_1.telemetry.json").string()));
  for (const telemetry::ReadRank& rank : read) {
    EXPECT_GE(intervals_of(rank.training(), "layer", "conv1").size(), 4U * 2 * 2);
    EXPECT_EQ(intervals_of(rank.transfers(), "transfer", "gradients on the node").size(), 4U);
    EXPECT_FALSE(intervals_of(rank.transfers(), "transfer", "MPI_Barrier").empty());
    EXPECT_EQ(rank.entry.at("clock").at("uncertainty_s"), 0.0);
  }
}

}  // namespace

// Tests of a trace of a run: layers, and gradient sums that overlap the backward pass.
#include <gmock/gmock.h>

#include "runner/generated_run.h"
#include "trace_checks.h"
#include "workloads/exit_codes.h"

namespace {

using nlohmann::json;
using outside::Ended;
using outside::kTargetMissed;

class ResNet50Trace : public outside::GeneratedRun {
 protected:
  ResNet50Trace()
      : GeneratedRun("resnet50",
                     "--classes 2 --train-per-class 24 --validation-per-class 4 --image-size 32") {}

  json config() const override {
    json config = usual_config();
    config["target"] = {{"quality", 1.5}};
    config["dataset"]["preprocess"] = "cifar";
    config["model"] = {{"image_size", 32}, {"classes", 2}, {"depth", 26}, {"width", 16}};
    // Each step has two passes; some gradients of the second one are ready early.
    config["training"] = {
        {"global_batch_size", 24}, {"bn_group_samples", 4}, {"gradient_accumulation_steps", 2}};
    config["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}};
    config["schedule"] = {{"learning_rate", 0.05}};
    return config;
  }
};

TEST_F(ResNet50Trace, HasLayersAndTransfersOfEveryRank) {
  const Ended ended = run([](json&) {}, outside::mpirun(2), "--trace 1:4");
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  const auto read = telemetry::read_trace(result("1.trace.json"));
  ASSERT_EQ(read.size(), 2U);
  telemetry::expect_whole_trace(read, 1, 4);
  telemetry::expect_steps_of_scopes(read);
  const auto report = telemetry::read_report(result("1.telemetry.json").string());
  telemetry::expect_same_account(read, report);
  ASSERT_FALSE(report.layers.empty());
  EXPECT_EQ(report.layers.front().layer, "conv1");
  EXPECT_NE(report.layers.front().method, "");
  for (const telemetry::ReadRank& rank : read) {
    EXPECT_GE(intervals_of(rank.training(), "layer", "conv1").size(), 4U * 2 * 2);
    EXPECT_EQ(intervals_of(rank.transfers(), "transfer", "gradients on the node").size(), 4U);
    EXPECT_FALSE(intervals_of(rank.transfers(), "transfer", "MPI_Barrier").empty());
    EXPECT_EQ(rank.entry.at("clock").at("uncertainty_s"), 0.0);
  }
}

}  // namespace

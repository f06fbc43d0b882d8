// Tests of what `scale` counts of the workloads' configurations.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runner/base/object_reader.h"
#include "runner/base/thrown_message.h"
#include "runner/run_config.h"
#include "runner/training_scale.h"
#include "workloads/registry.h"

namespace {

using runner::TrainingScale;
using testing::HasSubstr;

struct Place {
  int ranks = 1, node_ranks = 1;
};

TrainingScale scale_of(const std::string& path, const std::vector<std::string>& overrides = {},
                       const Place& place = {}) {
  const base::ObjectReader reader(base::load_config(path, overrides), path);
  const runner::RunConfig config = runner::parse_run_config(reader, path);
  for (const runner::WorkloadEntry& entry : workloads::registry()) {
    if (entry.name != config.workload) continue;
    return entry.scale(config, {0, place.ranks, place.node_ranks, 1});
  }
  throw base::ConfigError("no such workload: " + config.workload);
}

const std::string kResNet = "configs/resnet50/mlperf_8192.json";

/// The ratio to one decimal place, as published for these networks.
double ratio_of(const TrainingScale& scale) {
  return static_cast<double>(scale.forward_flops) / static_cast<double>(scale.parameters);
}

TEST(Scale, HasTheRatioOfResNet50) {
  const TrainingScale v1_5 = scale_of(kResNet);
  EXPECT_EQ(v1_5.parameters, 25'557'032);
  EXPECT_NEAR(ratio_of(v1_5), 320.0, 0.05);
  EXPECT_NEAR(ratio_of(scale_of(kResNet, {"model.version=v1"})), 301.9, 0.05);
}

TEST(Scale, DropsTheRemainderOfAnEpoch) {
  const auto steps = [](const std::string& samples, const std::string& batch) {
    return scale_of(kResNet, {"dataset.train_samples=" + samples,
                              "training.global_batch_size=" + batch, "training.bn_group_samples=1"})
        .steps_per_epoch;
  };
  EXPECT_EQ(steps("1280000", "512") * 100, 250'000) << "as in the LARS paper";
  EXPECT_EQ(steps("1280000", "4096") * 100, 31'200) << "the paper's 31,250 drop nothing";
  EXPECT_EQ(steps("1280000", "32768") * 100, 3'900);
  EXPECT_EQ(steps("1281167", "8192"), 156);
}

TEST(Scale, SendsEveryGradientTwiceToTheOtherNodes) {
  for (const Place& place : {Place{1, 1}, {2, 1}, {64, 1}, {64, 4}, {65, 4}, {4, 8}}) {
    const TrainingScale scale = scale_of(kResNet, {"training.bn_group_samples=1"}, place);
    const std::int64_t nodes = (place.ranks + place.node_ranks - 1) / place.node_ranks;
    EXPECT_EQ(scale.nodes, nodes);
    EXPECT_EQ(scale.gradients.all.bytes, 2 * (nodes - 1) * scale.gradient_bytes);
    EXPECT_GE(scale.gradient_bytes, 4 * 25'557'032);
    EXPECT_LE(scale.gradient_bytes, 4 * 25'700'000) << "padded";
    EXPECT_EQ(scale.tries_pieces, nodes > 1);
    EXPECT_EQ(scale.rank_samples, (8192 + place.ranks - 1) / place.ranks);
  }
}

TEST(Scale, LetsGradientsTravelBehindTheLastPass) {
  const auto share = [](const std::vector<std::string>& overrides) {
    return scale_of(kResNet, overrides, {2, 1}).hiding_share;
  };
  EXPECT_EQ(share({}), 1);
  EXPECT_EQ(share({"training.gradient_accumulation_steps=4"}), 0.25);
  EXPECT_NEAR(share({"training.late_update=false"}), 0.66, 0.01);
  EXPECT_EQ(share({"training.gradient_payload=int8"}), share({"training.late_update=false"}));
}

TEST(Scale, CountsVolumesAndScenes) {
  EXPECT_EQ(scale_of("configs/cosmoflow/mlperf.json", {}, {2, 1}).train_samples, 524'288);
  const TrainingScale scenes = scale_of("configs/deepcam/mlperf.json", {"training.precision=f32"});
  EXPECT_GT(scenes.training_flops, 2 * scenes.forward_flops);
}

TEST(Scale, CountsPartsOfASampleOnce) {
  const std::string path = "configs/cosmoflow/mlperf.json";
  const TrainingScale split =
      scale_of(path, {"training.sample_split.depth=2", "training.sample_split.height=1"}, {128, 1});
  EXPECT_EQ(split.rank_samples * 128, static_cast<double>(split.global_batch));
}

TEST(Scale, SaysWhatItNeeds) {
  const auto refusal = [](const std::vector<std::string>& overrides, const Place& place) {
    return base::thrown_message<base::ConfigError>(
        [&] { (void)scale_of(kResNet, overrides, place); });
  };
  EXPECT_THAT(refusal({"dataset.train_samples=0"}, {}),
              HasSubstr("/dataset/train_samples: expected the number of training samples"));
  EXPECT_THAT(refusal({"training.bn_group_samples=1"}, {8193, 1}), HasSubstr("8193"));
}

}  // namespace

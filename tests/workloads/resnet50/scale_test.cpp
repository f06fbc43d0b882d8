// Trains, and counts what `scale` counts.
#include "workloads/resnet50/trial.h"
#include "workloads/scale_trial.h"

namespace resnet50 {
namespace {

/// 120 images; of a batch of 50 ranks have different numbers, and 20 images of an epoch are left.
TEST(ResNet50Scale, CountsWhatTrainingCounts) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  nlohmann::json config = config_of(images, "stream");
  config["training"]["global_batch_size"] = 50;
  config["training"]["bn_group_samples"] = 1;
  config["model"]["depth"] = 26;
  config["model"]["width"] = 8;
  workload_trial::expect_counts_of_scale<Trial>(world, config, 120, training_scale);
}

}  // namespace
}  // namespace resnet50

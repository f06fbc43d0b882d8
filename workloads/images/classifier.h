// Training and evaluation of a network that classifies images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/workload.h"
#include "workloads/images/image_data.h"
#include "workloads/parallel/replica_workload.h"
#include "workloads/parallel/training_scale.h"

namespace images {

/// The optimizer that the section "optimizer" describes.
std::unique_ptr<nn::Optimizer> make_optimizer(const runner::RunConfig& run);

/// The images of a run. `needs`: what the workload of this run needs of memory.
std::shared_ptr<ImageData> open_images(const Config& config, const runner::RunConfig& run,
                                       const runner::Surroundings& around,
                                       runner::MemoryNeeds (*needs)(const runner::RunConfig&,
                                                                    const runner::PlannedRank&));

/// Of a network trained with these images.
runner::MemoryNeeds memory_needs(const nn::Network& network, const Config& config,
                                 const runner::RunConfig& run, const runner::PlannedRank& place);

/// Likewise, for `trainmark scale`.
runner::TrainingScale training_scale(const nn::Network& network, const Config& config,
                                     const runner::PlannedRank& place);

/// The quality is the share of the validation set that is classified correctly.
class Classifier : public parallel::ReplicaWorkload {
 public:
  std::vector<std::string> keys_without_effect() const override;
  /// Opens both sets: class ids may depend on the training set, and log fields depend on its size.
  void open_evaluation_data() override { open_data(); }
  runner::TrainResult train(std::int64_t steps) override;

 protected:
  Classifier(runner::WorkloadInfo info, nn::Network network, const Config& config,
             const std::shared_ptr<ImageData>& data, const runner::RunConfig& run,
             const runner::Surroundings& around);

 private:
  Load training_batches(std::int64_t first_step) override;
  Load evaluation_batches() override;
  void take(const staging::Batch& batch);
  parallel::BatchSums learn() override;
  parallel::BatchSums judge(std::int64_t samples) override;
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override;

  const Config config_;
  const std::shared_ptr<ImageData> data_;
  std::vector<std::int32_t> labels_;
};

}  // namespace images

// What a bench says of layers and of the limit that the library's products set.
// Hides their arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/memory_bandwidth.h"
#include "workloads/nn/products/product_limit.h"

namespace parallel {

/// Measured between the steps of a bench, so that both sides see the same machine.
class LayerBench {
 public:
  /// `batch`: samples of this rank. All outlive this.
  LayerBench(const nn::Network& network, std::int64_t batch, nn::Precision precision,
             const runner::BenchOptions& options, const runner::Communicator& world);

  /// Collective. Each product alone, once more; nothing where options ask for no limit. Takes
  /// its memory at the first call.
  void measure();
  /// Collective. Behind a timed step: what each layer took in it, and what a copy takes, whose
  /// memory is taken at the first call.
  void add_step(nn::Executor& executor);
  /// The limit takes so much longer, for `what` products do not do.
  void add_seconds(double seconds, const std::string& what);
  /// Collective. Measures as often as the options ask for, if that is not done yet, and adds
  /// limit_samples_per_s, fraction_of_limit and, if asked for, the layers and copy_gb_per_s to
  /// `result`, with their definitions.
  void finish(const nn::Executor& executor, double samples_per_s, nlohmann::json& result);

  /// Of each product of a convolution its layer, key and method, those that are permitted, and the
  /// times of the layer's passes.
  nlohmann::json methods(const nn::Executor& executor) const;

 private:
  nlohmann::json layers(const nn::Executor& executor) const;
  /// Medians over the steps.
  nn::LayerSeconds usual_seconds(std::size_t layer) const;

  const nn::Network& network_;
  const runner::BenchOptions& options_;
  const runner::Communicator& world_;
  std::int64_t batch_;
  nn::Precision precision_;
  nn::Device device_;
  std::vector<std::vector<nn::LayerSeconds>> steps_;  ///< of each step, those of each layer
  double other_s_ = 0.0;
  std::string other_;                          ///< what takes that time
  std::unique_ptr<nn::ProductLimit> limit_;    ///< null before it is measured
  std::unique_ptr<nn::CopyBandwidth> copies_;  ///< null without layers, or a step
};

/// Adds to `result` what every bench tells of training with `executor`, samples_per_s to mean_loss,
/// and what it means. loss: the sum over this rank's samples in the last step.
void add_training_facts(const nn::Executor& executor, double samples_per_s, double loss,
                        nlohmann::json& result);

}  // namespace parallel

// A bench's report on layers, and on the limit that oneDNN's products alone would set.
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

/// Measures layers and the limit between the timed steps of a bench, so that both are measured
/// under the same conditions.
class LayerBench {
 public:
  /// `batch`: samples of this rank. All outlive this.
  LayerBench(const nn::Network& network, std::int64_t batch, nn::Precision precision,
             const runner::BenchOptions& options, const runner::Communicator& world);

  /// Collective. Times each product alone once more; does nothing if options.limit_repetitions is
  /// 0. Allocates its memory at the first call.
  void measure();
  /// Collective. Call after each timed step: takes the seconds of its layers, and times a memory
  /// copy, whose blocks are allocated at the first call. Does nothing without options.layers.
  void add_step(nn::Executor& executor);
  /// Adds `seconds` to the limit for work that is no product; `what` names the work in the report.
  void add_seconds(double seconds, const std::string& what);
  /// Collective. Repeats measure() until options.limit_repetitions is reached. Adds
  /// limit_samples_per_s and fraction_of_limit to `result` and, with options.layers, the layers and
  /// copy_gb_per_s, with their definitions.
  void finish(const nn::Executor& executor, double samples_per_s, nlohmann::json& result);

  /// For each product of a convolution: layer, product, key, method in use, permitted methods, and
  /// the layer's forward and backward time in ms.
  nlohmann::json methods(const nn::Executor& executor) const;

 private:
  nlohmann::json layers(const nn::Executor& executor) const;
  /// Medians over the timed steps.
  nn::LayerSeconds usual_seconds(std::size_t layer) const;

  const nn::Network& network_;
  const runner::BenchOptions& options_;
  const runner::Communicator& world_;
  std::int64_t batch_;
  nn::Precision precision_;
  nn::Device device_;
  std::vector<std::vector<nn::LayerSeconds>> steps_;  ///< [step][layer]
  double other_s_ = 0.0;
  std::string other_;                          ///< the work that takes other_s_
  std::unique_ptr<nn::ProductLimit> limit_;    ///< null before the first measure()
  std::unique_ptr<nn::CopyBandwidth> copies_;  ///< null before add_step() with options.layers
};

/// Adds the facts about training that every bench reports, and their definitions, to `result`:
/// parameters, rates, FLOPs, mean loss, memory. loss: the sum over this rank's samples in the last
/// step.
void add_training_facts(const nn::Executor& executor, double samples_per_s, double loss,
                        nlohmann::json& result);

}  // namespace parallel

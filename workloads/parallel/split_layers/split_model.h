// Training of a chain of layers of which ranks split the feature maps. A step on any number of
// ranks, however layers are distributed, is mathematically that of one rank with the whole batch.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/split_layers/activation_exchange.h"
#include "workloads/parallel/split_layers/chain.h"

namespace parallel {

/// Bytes that a SplitModel takes on a rank at most, by purpose, with `state_buffers` floats of
/// optimizer state for each weight. Weights and state that it shares with ranks of its node count
/// for each of them.
std::map<std::string, std::int64_t> memory_bytes(const Chain& chain,
                                                 const ChainDistribution& distribution,
                                                 const DataParallelConfig& config,
                                                 int state_buffers, int rank, int ranks);

class SplitModel {
 public:
  /// Fills `values` [samples][features of the chain's input] for samples [first, first + count) of
  /// the global batch.
  using Load = std::function<void(Range samples, std::span<float> values)>;
  /// Reads `outputs` [samples][outputs] and writes the gradient of the mean loss over the global
  /// batch. Where ranks compute the same samples, each is asked.
  using Loss =
      std::function<void(Range samples, std::span<const float> outputs, std::span<float> gradient)>;
  /// Makes an optimizer for each stage; a limit on the norm of all gradients is refused.
  using MakeOptimizer = std::function<std::unique_ptr<nn::Optimizer>()>;

  /// Collective. `node`: the ranks of `world` that can share memory with this one. `config`:
  /// batches, arithmetic in f32, and how gradients travel. world, node and telemetry outlive this.
  /// Throws ConfigError as cut() and DataParallel do, on all ranks.
  SplitModel(const Chain& chain, const ChainDistribution& distribution,
             const DataParallelConfig& config, const MakeOptimizer& make_optimizer,
             const runner::Communicator& world, const runner::Communicator& node,
             telemetry::Telemetry& telemetry);
  SplitModel(const SplitModel&) = delete;
  SplitModel& operator=(const SplitModel&) = delete;
  ~SplitModel();

  /// Collective. Draws the weights from (seed, name): the same for every distribution.
  void initialize(std::uint64_t seed);
  /// Collective. One update.
  void step(const Load& load, const Loss& loss, double learning_rate);
  /// Collective. Ends an update that the last step left for the next.
  void finish_update();
  /// Collective. Every parameter, whole, under its name. Ranks that compute the same have the same
  /// bits, unless nodes differ in how many of them they have, so that sums have another order.
  std::map<std::string, std::vector<float>> weights();

 private:
  struct Part;
  void forward();
  void backward(std::int64_t pass);
  Range slots(std::int64_t pass, const Share& share) const;

  const DataParallelConfig config_;
  telemetry::Telemetry& telemetry_;
  const std::int64_t pass_samples_;
  std::list<Part> parts_;                  ///< one for each stage
  std::vector<ActivationExchange> edges_;  ///< before each stage, and behind the last
  std::vector<float> input_, outputs_, output_gradient_;
};

}  // namespace parallel

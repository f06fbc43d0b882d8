// Updates of weights that wait for their gradients only when the next forward pass needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runner/telemetry/telemetry.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/parameters.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_exchange.h"

namespace parallel {

/// One update: begin() after GradientExchange::close(), then, if it is late, the next forward pass
/// with this as listener, and finish(). All calls but is_under_way() are collective on a node.
/// Before a segment of the pass needs weights, this waits for the sums of their gradients and
/// updates them: tensors in groups, from the network's first to its last. Where nodes divide
/// updates, it waits for all sums, updates at once what is this node's, and the pass waits for
/// weights that come from other nodes. The results have the same bits whether it is late or not.
/// Source: waits that move into the next iteration's forward pass, Sridharan et al.,
/// arXiv:1801.08030.
class LateUpdate final : public nn::PassListener {
 public:
  /// All outlive this.
  LateUpdate(const nn::Parameters& parameters, nn::ParameterMemory& memory,
             GradientExchange& exchange, telemetry::Telemetry& telemetry);

  /// Begins an update by `optimizer`, which lives until it is finished. If it is not late, or the
  /// optimizer needs all gradients at once, finishes it, too.
  void begin(nn::Optimizer& optimizer, double learning_rate, bool is_late);
  bool is_under_way() const { return updated_ > 0; }
  void weights_needed(std::int64_t first) override;
  /// Updates all weights that are left.
  void finish();
  /// After a change of the exchange's pieces, while no update is under way.
  void regroup();

 private:
  /// Updates parameters [first, updated_), or takes their weights from other nodes.
  void update_from(std::size_t first);
  /// Updates the copies of weights that this rank has gathered.
  void refresh_copies(std::size_t first, std::size_t last);

  const std::vector<nn::ParameterView> parameters_;
  const std::span<float> weights_;
  std::vector<std::size_t> groups_;  ///< first parameter of each, ascending
  nn::ParameterMemory& memory_;
  GradientExchange& exchange_;
  telemetry::Telemetry& telemetry_;
  nn::Optimizer* optimizer_ = nullptr;
  std::size_t updated_ = 0;  ///< parameters from here on have been updated
};

}  // namespace parallel

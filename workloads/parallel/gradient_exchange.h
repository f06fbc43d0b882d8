// Sums gradients over ranks in pieces that leave while the backward pass goes on.
// Hides the pieces and the requests under way.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/nn/executor.h"

namespace parallel {

/// One step: begin(), the backward pass with this as listener, finish(). Afterwards every rank's
/// gradients are the sums, bit-identical. The block is cut into pieces of fixed size that have
/// nothing to do with tensors; a piece leaves as soon as all of it is final, and the library gets
/// to work on those under way each time a layer ends. Accounts for its time. Source: bucketed
/// allreduce behind the backward pass, Sridharan et al., arXiv:1801.08030.
class GradientExchange final : public nn::BackwardListener {
 public:
  static constexpr std::int64_t kDefaultPieceFloats = std::int64_t{1} << 20;  // 4 MiB

  /// Collective (duplicates the communicator). The gradients outlive this.
  GradientExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                   std::span<float> gradients, std::int64_t piece_floats = kDefaultPieceFloats);
  void begin();
  void gradients_ready(std::int64_t floats) override;
  /// Collective. Waits for what is still under way; that wait is the step's exposed exchange time.
  void finish();

 private:
  void start_ready(std::int64_t floats);
  void progress();
  runner::Communicator communicator_;
  telemetry::Telemetry& telemetry_;
  std::span<float> gradients_;
  std::int64_t piece_floats_;
  std::int64_t started_ = 0;
  std::deque<runner::Pending> under_way_;
};

}  // namespace parallel

// Sums gradients over ranks in pieces, while the backward pass goes on.
// Hides who sums which piece, how ranks of a node see each other's progress, and requests under
// way.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/shared_memory.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// One step: begin(), the backward pass with this as listener, finish(). The gradients are cut into
/// pieces of fixed size that have nothing to do with tensors. Each piece has an owner on every
/// node, which adds up the piece of all ranks of its node, in the order of their ranks, as soon as
/// all have it final, and then exchanges the sum with the piece's owners on other nodes. After
/// finish() an owner's gradients are the sums over all ranks in its own pieces, with the same bits
/// on every node; what the other pieces hold means nothing. Accounts for its time.
/// Source: bucketed exchange behind the backward pass, and updates shared out between those who own
/// the sums: Sridharan et al., arXiv:1801.08030.
class GradientExchange final : public nn::PassListener {
 public:
  /// Collective. gradients[r] is the block of rank r of `node` (the ranks that see each other's
  /// memory; maybe this one alone). All outlive this. piece_floats: 0 chooses; else a multiple of
  /// nn::kUpdateCell where updates are shared out.
  GradientExchange(const runner::Communicator& world, const runner::Communicator& node,
                   telemetry::Telemetry& telemetry, std::vector<std::span<float>> gradients,
                   std::int64_t piece_floats = 0);
  void begin();
  void gradients_ready(std::int64_t floats) override;
  /// Collective. Waits for what is still under way; that wait is the step's exposed exchange time.
  void finish();

  /// Whether this rank owns the piece with that float of the block.
  bool is_mine(std::int64_t offset) const { return owner(offset) == node_rank_; }
  /// The sums, gathered from their owners on this node. Valid after finish() on all of them, until
  /// the next backward pass of any.
  std::vector<float> sums() const;

 private:
  using Progress = std::atomic<std::int64_t>;
  int owner(std::int64_t offset) const {
    return static_cast<int>((offset / piece_floats_) % owners_);
  }
  void announce(std::int64_t floats);
  bool all_have(std::int64_t floats) const;
  void begin_on_node();
  void start_ready();
  void add_up(std::int64_t begin, std::int64_t end);

  telemetry::Telemetry& telemetry_;
  std::vector<std::span<float>> gradients_;
  std::int64_t floats_, piece_floats_ = 0;
  int node_rank_;
  int owners_;                                  ///< on each node: its first ranks
  std::optional<runner::Communicator> across_;  ///< owners of the same pieces, one of each node
  std::optional<runner::SharedMemory> announcements_;
  std::vector<Progress*> progress_;  ///< floats of all steps that each rank of the node announced
  std::int64_t earlier_ = 0;         ///< floats that all have announced in the steps before
  std::int64_t next_ = 0;            ///< the first own piece that was not added up yet
  /// The sums within the node, from the first piece that is added up until all are; nothing where
  /// the rank is alone there.
  std::optional<telemetry::TracedTransfer> on_node_;
  Transfer across_nodes_;  ///< of pieces; last: its requests end before their buffers
};

}  // namespace parallel

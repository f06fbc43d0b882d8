// Sums gradients over ranks, piece by piece, during the backward pass.
// Hides which rank sums which piece and how ranks of a node see each other's progress.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/shared_memory.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/piece_sums.h"
#include "workloads/parallel/piece_trials.h"
#include "workloads/parallel/shard_sum.h"

namespace parallel {

/// One step: begin(), the backward pass with this as listener, close(), wait() for all pieces. The
/// gradient block is cut into pieces of one size, regardless of tensors. Each piece has one owner
/// on every node. As soon as the piece is final on all ranks of the node, its owner adds it up over
/// them in rank order, and then exchanges the sum with the piece's owners on other nodes. After
/// wait() each owner's gradient block holds the sums over all ranks in the pieces it owns, with the
/// same bits on every node; its other pieces are unspecified. Records its time in the telemetry.
/// Between nodes values travel as floats (float_sum.h), rounded (narrow_sum.h), or those of largest
/// magnitude alone (sparse_sum.h); the owners keep what is left out (error feedback). Where nodes
/// divide updates (shard_sum.h), an owner gets the sums of its shard of each piece alone, updates
/// its weights, and gathers those of its counterparts.
/// Source: exchange of buckets overlapped with the backward pass, and updates divided among the
/// owners of the sums: Sridharan et al., arXiv:1801.08030.
class GradientExchange final : public nn::PassListener {
 public:
  /// Collective. gradients[r] is the gradient block of rank r of `node` (the ranks that share
  /// memory; maybe this one alone). All outlive this. instruction_set: that rounds values. With
  /// travel.late_update, pieces that are final later overtake others, if they travel as floats.
  GradientExchange(const runner::Communicator& world, const runner::Communicator& node,
                   telemetry::Telemetry& telemetry, std::vector<std::span<float>> gradients,
                   const GradientTravel& travel = {},
                   base::InstructionSet instruction_set = base::InstructionSet::kBaseline);
  /// Changes the pieces, to the same on all ranks, before begin(), while nothing travels. Only of
  /// floats whose sums all nodes get: the sums keep their bits.
  void set_cut(const PieceCut& cut);
  PieceCut cut() const { return {piece_floats_, last_first_}; }
  /// What PieceTrials should try; a single one if set_cut() must not be called.
  std::vector<PieceCut> cuts_to_try() const;
  void begin();
  void gradients_ready(std::int64_t floats) override;
  /// Collective. Adds up what is left within the node, so that all pieces travel. Other ranks of
  /// the node may still read this rank's gradients: do not overwrite them before all have returned.
  void close();
  /// Waits for the sums of floats [begin, end), as far as this rank owns them. This and close() are
  /// the step's exposed exchange time.
  void wait(std::int64_t begin, std::int64_t end);
  void wait_all() { wait(0, floats_); }
  /// Collective. Completes the exchange.
  void finish() {
    close();
    wait_all();
  }
  /// Goes on with what travels.
  void progress();

  /// Whether sums travel between nodes; the same on all ranks.
  bool is_between_nodes() const { return nodes_ > 1; }
  int nodes() const { return nodes_; }
  int node_index() const { return node_index_; }  ///< in the order of nodes' first ranks
  /// Floats of one piece of every owner, which follow one another.
  std::int64_t round_floats() const { return piece_floats_ * owners_; }
  bool divides_updates() const { return is_divided_; }
  /// Whether this node gets the sum at float `offset` of the block.
  bool is_here(std::int64_t offset) const { return !is_divided_ || node_of(offset) == node_index_; }
  /// Whether this rank gets it.
  bool is_mine(std::int64_t offset) const { return owner(offset) == node_rank_ && is_here(offset); }
  /// Whether this rank gathers the weight at `offset` from another node.
  bool is_gathered(std::int64_t offset) const {
    return owner(offset) == node_rank_ && !is_here(offset);
  }
  /// Where nodes divide updates: the rank of the world that gets the sum.
  int rank_of(std::int64_t offset) const;
  /// Gathers a block of weights, of which this rank has updated its shards, the last pieces first:
  /// from the next progress() or wait_gathered() on, so that what ranks agree on before is not
  /// behind it. All of the block must be waited for.
  void start_gather(std::span<float> weights);
  /// Waits for the weights [begin, end), as far as this rank owns them.
  void wait_gathered(std::int64_t begin, std::int64_t end);
  /// The sums, gathered from their owners on this node. May be called once every rank of the node
  /// has waited for all, and before any of them begins its next backward pass.
  std::vector<float> sums() const;
  /// Whether this node keeps what its payload left out: the rest. Its sum over nodes, divided among
  /// them in any way, is what training has not learned yet.
  bool keeps_rest() const { return rest_memory_.has_value(); }
  /// The node's rest of floats [begin, begin + count) of the block. May be called once every rank
  /// of the node has waited for all, and before any of them closes its next exchange.
  std::vector<float> rest(std::int64_t begin, std::int64_t count) const;
  /// Sets it, for all owners on the node. A barrier of the node's ranks must follow before the next
  /// step.
  void set_rest(std::int64_t begin, std::span<const float> values);

 private:
  using Progress = std::atomic<std::int64_t>;
  int owner(std::int64_t offset) const {
    return static_cast<int>((offset / piece_floats_) % owners_);
  }
  void know_ranks(const runner::Communicator& world);
  void make_sums(const runner::Communicator& node, base::InstructionSet instruction_set);
  void make_float_sums();
  /// This rank's pieces of a block.
  std::vector<std::span<float>> own_pieces(std::span<float> block) const;
  int node_of(std::int64_t offset) const;
  /// Calls use(number) for those of this rank's pieces that overlap floats [begin, end).
  template <class Use>
  void for_each_own(std::int64_t begin, std::int64_t end, Use use) const;
  /// The rest of the pieces of rank `rank` of the node, one behind the other.
  std::span<float> rest_of(int rank) const;
  /// Calls use(rest, offset) for the parts of the rest of floats [begin, begin + count) that lie
  /// one behind the other; `offset` counts from `begin`.
  template <class Use>
  void for_each_rest(std::int64_t begin, std::int64_t count, Use use) const;
  void announce(std::int64_t floats);
  bool all_have(std::int64_t floats) const;
  void begin_on_node();
  void start_ready();
  void add_up(std::int64_t begin, std::int64_t end);
  /// Of this rank's pieces, the number of the one that begins at `begin`.
  std::size_t number_of(std::int64_t begin) const {
    return static_cast<std::size_t>(begin / (piece_floats_ * owners_));
  }

  telemetry::Telemetry& telemetry_;
  const GradientTravel travel_;
  std::vector<std::span<float>> gradients_;
  std::int64_t floats_, piece_floats_ = 0;
  bool last_first_;
  int node_rank_, nodes_;
  int node_index_ = 0;
  bool is_divided_ = false;
  std::vector<int> world_ranks_;                ///< if divided: [nodes][owners]
  int owners_;                                  ///< on each node: its ranks [0, owners_)
  std::optional<runner::Communicator> across_;  ///< owners of the same pieces, one on each node
  std::optional<runner::SharedMemory> announcements_, rest_memory_;
  std::vector<Progress*> progress_;  ///< by rank of the node: final floats, over all steps
  std::int64_t earlier_ = 0;         ///< floats that each rank announced in previous steps
  std::int64_t next_ = 0;            ///< offset of this rank's next piece to add up
  /// Spans the sums within the node, from the first piece to the last; empty if the rank is alone
  /// on its node.
  std::optional<telemetry::TracedTransfer> on_node_;
  /// Of this rank's pieces, between nodes; null on one node and on ranks that own no pieces on any.
  std::unique_ptr<PieceSums> sums_;
  std::unique_ptr<ShardGather> gather_;  ///< of the weights that start_gather() was given last
};

}  // namespace parallel

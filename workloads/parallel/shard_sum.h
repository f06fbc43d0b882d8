// Sums over ranks of which each rank gets a shard, and shards of which all ranks get all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/piece_sums.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// The half-open range of rank `rank`'s shard in a piece of `floats` that begins at a cell of
/// updates: whole cells (nn::kUpdateCell), evenly divided; the last may be shorter.
std::pair<std::int64_t, std::int64_t> shard_of(std::int64_t floats, int ranks, int rank);
/// The rank whose shard has float `offset` of the piece.
int rank_of_shard(std::int64_t floats, int ranks, std::int64_t offset);

/// Pieces that are under way at a time: enough that links are busy between two looks, and few, so
/// that the first arrive early and buffers are small.
inline constexpr std::size_t kShardsAtOnce = 4;

/// Buffers that are used again.
class Buffers {
 public:
  /// Returns a buffer of `floats` floats or more; their values are unspecified.
  std::vector<float> take(std::size_t floats);
  void give_back(std::vector<float> buffer) { free_.push_back(std::move(buffer)); }

 private:
  std::vector<std::vector<float>> free_;
};

/// Of each piece a rank gets the sum of its shard, added in the order of ranks; the rest of its
/// piece keeps what it was. A rank sends the floats of all shards but its own.
class ShardSums final : public PieceSums {
 public:
  /// All arguments but `pieces` outlive this, and so do the floats. The pieces have equal sizes on
  /// all ranks. `name` says in the trace what is sent; a string literal.
  ShardSums(const runner::Communicator& ranks, const std::vector<std::span<float>>& pieces,
            telemetry::Telemetry& telemetry, const char* name);
  ~ShardSums() override;
  ShardSums(const ShardSums&) = delete;
  ShardSums& operator=(const ShardSums&) = delete;

  void begin(std::size_t piece) override;
  bool test() override;
  bool is_done(std::size_t piece) const override;

 private:
  class Sum;
  const runner::Communicator& ranks_;
  std::vector<std::unique_ptr<Sum>> sums_;
  std::deque<std::size_t> waiting_;     ///< begun by the caller, in its order
  std::vector<std::size_t> under_way_;  ///< begun with MPI, in the same order on all ranks
  Buffers buffers_;
};

/// Of each piece, each rank sends its shard to all others, which receive it in its place. A rank
/// sends its shard as often as there are others. The last pieces go first, a few at a time. Goes on
/// only within test() and the waits. The floats of a piece must stay untouched until it has been
/// waited for.
class ShardGather {
 public:
  /// As ShardSums.
  ShardGather(const runner::Communicator& ranks, const std::vector<std::span<float>>& pieces,
              telemetry::Telemetry& telemetry, const char* name);
  ~ShardGather();
  ShardGather(const ShardGather&) = delete;
  ShardGather& operator=(const ShardGather&) = delete;

  void test();
  void wait(std::size_t piece);
  void wait_all();

 private:
  class Piece;
  const runner::Communicator& ranks_;
  const char* const name_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t waiting_;  ///< pieces that have not been begun, the first ones
  Buffers buffers_;
};

}  // namespace parallel

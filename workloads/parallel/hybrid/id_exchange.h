// Brings ids of embedding tables from the ranks that have the samples to those that have the
// tables.
// Hides how ids are packed, and that lengths of bags go ahead where they vary.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/embedding/bags.h"
#include "workloads/nn/batch_groups.h"
#include "workloads/parallel/hybrid/table_placement.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// `slices`, if there is one of each rank and they tile the batch in rank order; else throws
/// ShapeError. A rank may have no samples.
std::vector<nn::PassSlice> require_slices(std::vector<nn::PassSlice> slices, int ranks);

/// What an exchange of ids takes on a rank, but for those of bags whose sizes vary.
struct IdNeeds {
  std::int64_t bytes_sent = 0;    ///< to other ranks, in each exchange
  std::int64_t buffer_bytes = 0;  ///< of ids and of where bags begin
};
IdNeeds id_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                 std::span<const nn::PassSlice> slices, int rank);

/// start(), maybe progress(), finish(), once for each batch.
class IdExchange {
 public:
  /// Collective. slices: of the global batch, by rank. `telemetry` outlives this.
  IdExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
             std::span<const TableSpec> tables, const TablePlacement& placement,
             std::vector<nn::PassSlice> slices);

  /// Collective. The bags of this rank's samples, by table; they may change when this returns.
  void start(std::span<const nn::Bags> local);
  /// Collective, where no sizes vary: ids [table][sample][id], packed.
  void start(std::span<const std::int32_t> local);
  void progress();
  /// Collective. For each own shard, in order, the bags of all samples of the batch. Until the next
  /// finish().
  std::span<const nn::Bags> finish();

  /// To other ranks: of the exchange that was started last, or of any where no sizes vary.
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Shard {
    std::size_t table = 0;
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets;
  };
  const nn::PassSlice& own_slice() const { return slices_[rank_]; }
  void require_local(std::span<const nn::Bags> local) const;
  void pack_lengths(std::span<const nn::Bags> local);
  void pack_ids(std::span<const nn::Bags> local);
  void start_ids();
  /// Ids that each rank sends for each own shard: [rank][shard].
  std::vector<std::int64_t> arriving() const;
  void unpack_lengths();

  std::size_t rank_;
  std::vector<nn::PassSlice> slices_;
  std::vector<std::int64_t> bag_sizes_;
  runner::Communicator
      world_;  ///< made when all arguments were found good: to end it is collective
  std::vector<std::vector<std::size_t>> tables_of_rank_;  ///< of its shards, in order
  bool lengths_vary_ = false;
  bool is_started_ = false, ids_are_started_ = false;
  std::vector<std::int32_t> lengths_out_, lengths_in_;  ///< [rank][shard whose sizes vary][sample]
  std::vector<std::int32_t> ids_out_, ids_in_;          ///< [rank][shard][sample][id]
  std::vector<std::int64_t> ids_to_;                    ///< by rank
  std::map<std::int64_t, std::vector<std::int64_t>> offsets_of_size_;  ///< of own samples' bags
  std::vector<Shard> shards_;
  std::vector<nn::Bags> bags_;
  std::int64_t bytes_sent_ = 0;
  Transfer transfer_;  ///< last: its requests end before their buffers
};

}  // namespace parallel

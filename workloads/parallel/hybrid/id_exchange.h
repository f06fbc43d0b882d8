// Sends ids from the ranks that have the samples to the ranks that have the embedding tables.
// Hides packing, and the exchange of bag lengths that comes first if they vary.
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

/// Returns `slices`. Throws ShapeError unless there is one for each rank and they tile the batch in
/// rank order. A rank may have no samples.
std::vector<nn::PassSlice> require_slices(std::vector<nn::PassSlice> slices, int ranks);

/// Needs of an exchange of ids on one rank. Ids of bags of varying size are not counted.
struct IdNeeds {
  std::int64_t bytes_sent = 0;    ///< to other ranks, in each exchange
  std::int64_t buffer_bytes = 0;  ///< for ids and for the offsets of bags
};
IdNeeds id_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                 std::span<const nn::PassSlice> slices, int rank);

/// For each batch: start(), any number of progress(), finish().
class IdExchange {
 public:
  /// Collective. slices: of the global batch, by rank. `telemetry` outlives this.
  IdExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
             std::span<const TableSpec> tables, const TablePlacement& placement,
             std::vector<nn::PassSlice> slices);

  /// Collective. local: the bags of this rank's samples, by table; may change after this returns.
  void start(std::span<const nn::Bags> local);
  /// Collective, for bags of fixed sizes. local: packed ids [table][sample][id].
  void start(std::span<const std::int32_t> local);
  void progress();
  bool is_started() const { return is_started_; }
  /// Collective. Returns the bags of all samples of the batch for each of this rank's shards, in
  /// order. Valid until the next finish().
  std::span<const nn::Bags> finish();

  /// Bytes sent to other ranks by the last started exchange. With fixed bag sizes all exchanges
  /// send the same number, which is valid before the first.
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
  /// Number of ids that each rank sends for each of this rank's shards: [rank][shard].
  std::vector<std::int64_t> arriving() const;
  void unpack_lengths();

  std::size_t rank_;
  std::vector<nn::PassSlice> slices_;
  std::vector<std::int64_t> bag_sizes_;
  runner::Communicator world_;  ///< after the checks of arguments: its destruction is collective
  std::vector<std::vector<std::size_t>> tables_of_rank_;  ///< tables of its shards, in order
  bool lengths_vary_ = false;
  bool is_started_ = false, ids_are_started_ = false;
  std::vector<std::int32_t> lengths_out_, lengths_in_;  ///< [rank][shard of varying size][sample]
  std::vector<std::int32_t> ids_out_, ids_in_;          ///< [rank][shard][sample][id]
  std::vector<std::int64_t> ids_to_;                    ///< number of ids sent to each rank
  /// Offsets of this rank's bags, by bag size.
  std::map<std::int64_t, std::vector<std::int64_t>> offsets_of_size_;
  std::vector<Shard> shards_;
  std::vector<nn::Bags> bags_;
  std::int64_t bytes_sent_ = 0;
  Transfer transfer_;  ///< last member: its requests must end before their buffers do
};

}  // namespace parallel

// Everything between ranks for embedding tables that lie on different ranks: ids to the tables,
// their outputs to the samples, gradients back. Hides packing, rounding and requests under way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/system_facts.h"
#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/embedding/bags.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"
#include "workloads/nn/batch_groups.h"
#include "workloads/nn/precision.h"
#include "workloads/parallel/hybrid/id_exchange.h"
#include "workloads/parallel/hybrid/table_placement.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// In how many operations outputs go to the samples (and gradients, gathered, back).
/// Source: Kalamkar et al., arXiv:2005.04680.
enum class AlltoallVariant {
  kScatterList,  ///< a scatter for each shard, from its owner
  kScatter,      ///< a scatter for each rank with shards
  kAlltoall      ///< one alltoall
};
/// "scatter_list", "scatter", "alltoall".
const char* to_string(AlltoallVariant variant);
/// For ObjectReader::choice.
std::vector<std::pair<std::string, AlltoallVariant>> alltoall_variants();

struct EmbeddingExchangeOptions {
  AlltoallVariant variant = AlltoallVariant::kAlltoall;
  nn::Precision values = nn::Precision::kF32;  ///< of outputs and gradients in memory
  /// Of floats on the way. With kBf16 each is rounded, also what stays on its rank, so that the
  /// numbers do not depend on who has which table. Values that are Bf16 go as they are.
  nn::Precision payload = nn::Precision::kF32;
  base::InstructionSet instruction_set = base::InstructionSet::kBaseline;
};

/// What an exchange is and takes on a rank, of placement, slices and options alone.
struct ExchangeNeeds {
  std::int64_t owned_columns = 0;  ///< W_r: of this rank's shards
  std::int64_t shard_columns = 0;  ///< W': of the shards of all ranks
  std::int64_t value_columns = 0;  ///< W: of all tables
  std::int64_t payload_bytes = 0;  ///< of one value on the way
  /// Sent to other ranks in a step: payload (B - n) W_r, and payload n (W' - W_r).
  std::int64_t forward_bytes = 0, backward_bytes = 0;
  /// Where values are packed: on their owner [B, W_r], and on the samples' rank [n, W'].
  std::int64_t at_owner_bytes = 0, at_samples_bytes = 0;
};
ExchangeNeeds exchange_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                             std::span<const nn::PassSlice> slices, int rank,
                             const EmbeddingExchangeOptions& options);

/// With n samples of a batch of B here, and W_r columns on rank r: an owner's matrices are [B,
/// W_r], its shards side by side in their order; the samples' are [n, W], all tables side by side,
/// replicated ones included. Each start returns at once; what it was given in place of a copy (see
/// there) stays untouched until its finish. All variants give the same bits. Accounts for its time;
/// the communicator counts the bytes.
class EmbeddingExchange {
 public:
  /// Collective. slices: of the batch, by rank; maybe uneven, maybe none for some ranks.
  /// `telemetry` outlives this. Throws ShapeError when slices do not tile the batch, or shards not
  /// the tables.
  EmbeddingExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                    std::span<const TableSpec> tables, const TablePlacement& placement,
                    std::vector<nn::PassSlice> slices, const EmbeddingExchangeOptions& options);

  std::int64_t owned_columns() const { return needs_.owned_columns; }  ///< W_r
  std::int64_t value_columns() const { return needs_.value_columns; }  ///< W
  /// Whether both matrices are the same, so that the caller may use one memory for both and leave
  /// out forward and backward: one rank that has all tables whole and in order, and rounds nothing.
  bool is_local() const;

  /// Collective, all three: ids of this rank's samples to the owners of their tables. Independent
  /// of what else is under way. See IdExchange.
  void start_ids(std::span<const nn::Bags> local) { ids_.start(local); }
  void start_ids(std::span<const std::int32_t> local) { ids_.start(local); }
  std::span<const nn::Bags> finish_ids() { return ids_.finish(); }

  /// Collective. owned [B, W_r] stays untouched until finish_forward(), which fills value [n, W]
  /// but for the columns of replicated tables. T is float or nn::Bf16, as options.values says.
  template <class T>
  void start_forward(const T* owned);
  template <class T>
  void finish_forward(T* value);
  /// Collective. gradient [n, W] may change when this returns; owned_gradient [B, W_r] is whole
  /// after finish_backward() and not to be touched before.
  template <class T>
  void start_backward(const T* gradient, T* owned_gradient);
  template <class T>
  void finish_backward();
  /// Drives what is under way: called between primitives.
  void progress();
  /// Of outputs or gradients, as far as progress() has noticed.
  bool is_under_way() const { return transfer_.is_under_way(); }

  /// Bytes that this rank sends to others: see ExchangeNeeds, and for ids IdExchange.
  std::int64_t forward_bytes_sent() const { return needs_.forward_bytes; }
  std::int64_t backward_bytes_sent() const { return needs_.backward_bytes; }
  std::int64_t ids_bytes_sent() const { return ids_.bytes_sent(); }
  /// Operations of one direction: as many as shards, ranks with shards, or one.
  int operations() const;

 private:
  /// A shard's columns in each of the matrices that have them.
  struct Piece {
    std::int64_t in_owned = 0, in_value = 0, in_group = 0, columns = 0;
  };
  /// Shards of one owner that go in one operation.
  struct Group {
    int owner = 0;
    std::int64_t columns = 0;
    std::int64_t before_it = 0;  ///< columns of all groups before, and of those of the same owner
    std::int64_t before_it_on_owner = 0;
    std::vector<Piece> pieces;
  };
  /// A matrix of which some columns are moved: its row length, and where a piece stands in a row.
  struct Side {
    std::int64_t stride = 0;
    std::int64_t Piece::*place = nullptr;
  };
  void add_groups(std::span<const TableSpec> tables, const TablePlacement& placement);
  enum class Phase { kNone, kForward, kBackward };
  /// Throws Error(kInternal) unless it is `from`, and values are so large.
  void change(Phase from, Phase to, std::size_t value_bytes);
  bool is_own(const Group& group) const { return group.owner == world_.rank(); }
  /// Whether the owner's matrix is packed before it is sent.
  bool is_staged() const { return needs_.at_owner_bytes > 0; }
  Side owned_side() const { return {needs_.owned_columns, &Piece::in_owned}; }
  Side value_side() const { return {needs_.value_columns, &Piece::in_value}; }
  static Side packed_side(const Group& group) { return {group.columns, &Piece::in_group}; }
  template <class From, class To>
  void move_rows(const Group& group, std::int64_t rows, const From* from, const Side& from_side,
                 To* to, const Side& to_side) const;
  /// Where a group's packed values stand: [B, columns] on its owner, [n, columns] on each rank.
  template <class P>
  P* at_owner(const Group& group) const;
  template <class P>
  P* at_samples(const Group& group) const;
  template <class T, class P>
  void forward_from(const T* owned);
  template <class T, class P>
  void forward_to(const T* owned, T* value);
  template <class T, class P>
  void backward_from(const T* gradient, T* owned_gradient);
  template <class T, class P>
  void backward_to(T* owned_gradient);
  /// Parts, by rank, of an owner's packed group, and of all groups together on this rank.
  runner::RankParts parts_at_owner(std::int64_t columns) const;
  runner::RankParts parts_at_samples() const;
  std::span<std::byte> bytes_at_samples() const;
  std::span<std::byte> bytes_at_samples(const Group& group) const;
  template <class Byte>
  std::span<Byte> bytes_at_owner(Byte* own, const Group& group) const;
  template <class Move>
  void for_rows_of_others(Move move) const;
  void start_requests_forward(const std::byte* own);
  void start_requests_backward(std::byte* own);

  IdExchange
      ids_;  ///< first: it finds what is wrong with the arguments before a communicator is made
  runner::Communicator world_;
  telemetry::Telemetry& telemetry_;
  std::vector<nn::PassSlice> slices_;
  nn::PassSlice slice_;
  AlltoallVariant variant_;
  nn::Precision values_;
  bool rounds_;  ///< floats go as Bf16
  ExchangeNeeds needs_;
  const nn::Kernels& kernels_;
  bool is_whole_ = true;  ///< pieces stand where the tables do
  std::vector<Group> groups_;
  nn::AlignedFloats at_owner_, at_samples_;
  Phase phase_ = Phase::kNone;
  const void* from_ = nullptr;  ///< owned, while a forward exchange is under way
  void* to_ = nullptr;          ///< owned_gradient, likewise
  Transfer transfer_;           ///< last: its requests end before their buffers
};

}  // namespace parallel

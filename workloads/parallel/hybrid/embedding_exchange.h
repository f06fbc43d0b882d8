// Communication for embedding tables that are distributed over ranks: ids to the tables, table
// outputs to the samples, gradients back. Hides packing, rounding and pending requests.
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

/// The MPI operations that send outputs to the samples, and by gathers in place of scatters, the
/// gradients back. Source: Kalamkar et al., arXiv:2005.04680.
enum class AlltoallVariant {
  kScatterList,  ///< one scatter for each shard, from its owner
  kScatter,      ///< one scatter for each rank with shards
  kAlltoall      ///< one alltoall
};
/// "scatter_list", "scatter", "alltoall".
const char* to_string(AlltoallVariant variant);
/// For ObjectReader::choice.
std::vector<std::pair<std::string, AlltoallVariant>> alltoall_variants();

struct EmbeddingExchangeOptions {
  AlltoallVariant variant = AlltoallVariant::kAlltoall;
  nn::Precision values = nn::Precision::kF32;  ///< of outputs and gradients in memory
  /// The precision in which f32 values are sent. With kBf16 all of them are rounded, even those
  /// that stay on their rank, so that results do not depend on the placement. Bf16 values are sent
  /// unchanged.
  nn::Precision payload = nn::Precision::kF32;
  base::InstructionSet instruction_set = base::InstructionSet::kBaseline;
};

/// Sizes of an exchange on one rank, for a global batch of B samples of which the rank has n.
struct ExchangeNeeds {
  std::int64_t owned_columns = 0;  ///< W_r: columns of this rank's shards
  std::int64_t shard_columns = 0;  ///< W': columns of the shards of all ranks
  std::int64_t value_columns = 0;  ///< W: columns of all tables
  std::int64_t payload_bytes = 0;  ///< bytes of one value as it is sent
  /// Sent to other ranks in a step: payload_bytes (B - n) W_r, and payload_bytes n (W' - W_r).
  std::int64_t forward_bytes = 0, backward_bytes = 0;
  /// Packing buffers: for values of this rank's tables [B, W_r], and of its samples [n, W']; 0 if
  /// not needed.
  std::int64_t at_owner_bytes = 0, at_samples_bytes = 0;
};
ExchangeNeeds exchange_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                             std::span<const nn::PassSlice> slices, int rank,
                             const EmbeddingExchangeOptions& options);

/// Moves values between two kinds of matrices. For a global batch of B samples, the owned matrices
/// of rank r are [B, W_r], with its shards side by side in placement order. The value matrices of a
/// rank with n samples are [n, W], with all tables side by side, replicated ones included. The
/// start functions return at once. All variants give the same bits. Records its time in the
/// telemetry; the communicator counts the bytes.
class EmbeddingExchange {
 public:
  /// Collective. slices: of the global batch, by rank; may be uneven or empty. `telemetry` outlives
  /// this. Throws ShapeError when the slices do not tile the batch, or the placement does not cover
  /// each table exactly once.
  EmbeddingExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                    std::span<const TableSpec> tables, const TablePlacement& placement,
                    std::vector<nn::PassSlice> slices, const EmbeddingExchangeOptions& options);

  std::int64_t owned_columns() const { return needs_.owned_columns; }  ///< W_r
  std::int64_t value_columns() const { return needs_.value_columns; }  ///< W
  /// Whether the owned and the value matrix are the same, so that the caller may use one buffer for
  /// both and skip the forward and backward exchange: on one rank that has all tables whole and in
  /// order, without rounding.
  bool is_local() const;

  /// Collective, all three. Send the ids of this rank's samples to the owners of the tables; may
  /// overlap a forward or backward exchange. See IdExchange.
  void start_ids(std::span<const nn::Bags> local) { ids_.start(local); }
  void start_ids(std::span<const std::int32_t> local) { ids_.start(local); }
  std::span<const nn::Bags> finish_ids() { return ids_.finish(); }
  /// Whether ids have been started and not finished.
  bool sends_ids() const { return ids_.is_started(); }

  /// Collective. owned [B, W_r] must not change until finish_forward(), which writes value [n, W]
  /// except the columns of replicated tables. T is float or nn::Bf16, according to options.values.
  template <class T>
  void start_forward(const T* owned);
  template <class T>
  void finish_forward(T* value);
  /// Collective. gradient [n, W] may change after start_backward() returns. owned_gradient [B, W_r]
  /// must not be accessed before finish_backward(), which completes it.
  template <class T>
  void start_backward(const T* gradient, T* owned_gradient);
  template <class T>
  void finish_backward();
  /// Advances pending requests; call it often during other work.
  void progress();
  /// Whether outputs or gradients are under way, as of the last progress().
  bool is_under_way() const { return transfer_.is_under_way(); }

  /// Bytes that this rank sends to other ranks: see ExchangeNeeds, and for ids IdExchange.
  std::int64_t forward_bytes_sent() const { return needs_.forward_bytes; }
  std::int64_t backward_bytes_sent() const { return needs_.backward_bytes; }
  std::int64_t ids_bytes_sent() const { return ids_.bytes_sent(); }
  /// MPI operations of one direction: the number of shards, the number of ranks with shards, or 1.
  int operations() const;

 private:
  /// A shard's first column in each matrix that contains it, and its number of columns.
  struct Piece {
    std::int64_t in_owned = 0, in_value = 0, in_group = 0, columns = 0;
  };
  /// Shards of one owner that are sent in one operation.
  struct Group {
    int owner = 0;
    std::int64_t columns = 0;
    std::int64_t before_it = 0;           ///< columns of all earlier groups
    std::int64_t before_it_on_owner = 0;  ///< columns of the same owner's earlier groups
    std::vector<Piece> pieces;
  };
  /// One side of a copy: the matrix's row length, and the member of Piece that has its columns.
  struct Side {
    std::int64_t stride = 0;
    std::int64_t Piece::*place = nullptr;
  };
  void add_groups(std::span<const TableSpec> tables, const TablePlacement& placement);
  enum class Phase { kNone, kForward, kBackward };
  /// Sets phase_ to `to`. Throws Error(kInternal) unless phase_ is `from` and options.values has
  /// value_bytes bytes.
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
  /// A group's packed values: [B, columns] on its owner, [n, columns] on each rank.
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
  /// By rank: byte counts and places in an owner's packed group, and in this rank's packed values.
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

  IdExchange ids_;  ///< first: checks the arguments before any communicator is made
  runner::Communicator world_;
  telemetry::Telemetry& telemetry_;
  std::vector<nn::PassSlice> slices_;
  nn::PassSlice slice_;
  AlltoallVariant variant_;
  nn::Precision values_;
  bool rounds_;  ///< floats are sent as Bf16
  ExchangeNeeds needs_;
  const nn::Kernels& kernels_;
  bool is_whole_ = true;  ///< pieces have the same columns in the owned and the value matrix
  std::vector<Group> groups_;
  nn::AlignedFloats at_owner_, at_samples_;
  Phase phase_ = Phase::kNone;
  const void* from_ = nullptr;  ///< `owned` of the forward exchange under way
  void* to_ = nullptr;          ///< `owned_gradient` of the backward exchange under way
  Transfer transfer_;           ///< last member: its requests must end before their buffers do
};

}  // namespace parallel

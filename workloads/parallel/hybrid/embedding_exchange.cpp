// Packs columns by destination, starts the requests, and unpacks received values; skips packing
// where values can be sent from or received in place.
#include "workloads/parallel/hybrid/embedding_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runner/base/error.h"

namespace parallel {
namespace {

using nn::Bf16;
using telemetry::Scope;
using telemetry::Subsystem;

/// Names of the transfers in the trace.
constexpr const char* kEmbeddingsTransfer = "embeddings";
constexpr const char* kGradientsTransfer = "gradients of embeddings";

template <class T>
void move_values(const nn::Kernels& /*kernels*/, const T* from, T* to, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}
void move_values(const nn::Kernels& kernels, const float* from, Bf16* to, std::int64_t count) {
  kernels.round_to_bf16(from, to, count);
}
void move_values(const nn::Kernels& /*kernels*/, const Bf16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = nn::as_float(from[i]);
}

template <class Byte>
std::span<Byte> span_of(Byte* begin, std::int64_t bytes) {
  return {begin, static_cast<std::size_t>(bytes)};
}

std::byte* bytes_in(const nn::AlignedFloats& memory) {
  return reinterpret_cast<std::byte*>(memory.data());
}

[[noreturn]] void fail_embedding_exchange(const std::string& message) {
  throw base::Error(base::ExitCode::kInternal, "exchange of embeddings: " + message);
}

/// Returns `world` after require_placement(), which must come before any collective call.
const runner::Communicator& require_fit(const runner::Communicator& world,
                                        std::span<const TableSpec> tables,
                                        const TablePlacement& placement) {
  require_placement(tables, placement, world.size());
  return world;
}

bool rounds(const EmbeddingExchangeOptions& options) {
  return options.values == nn::Precision::kF32 && options.payload == nn::Precision::kBf16;
}

}  // namespace

const char* to_string(AlltoallVariant variant) {
  switch (variant) {
    case AlltoallVariant::kScatterList:
      return "scatter_list";
    case AlltoallVariant::kScatter:
      return "scatter";
    case AlltoallVariant::kAlltoall:
      return "alltoall";
  }
  fail_embedding_exchange("no such variant");
}

std::vector<std::pair<std::string, AlltoallVariant>> alltoall_variants() {
  std::vector<std::pair<std::string, AlltoallVariant>> names;
  for (const AlltoallVariant variant :
       {AlltoallVariant::kScatterList, AlltoallVariant::kScatter, AlltoallVariant::kAlltoall}) {
    names.emplace_back(to_string(variant), variant);
  }
  return names;
}

ExchangeNeeds exchange_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                             std::span<const nn::PassSlice> slices, int rank,
                             const EmbeddingExchangeOptions& options) {
  const nn::PassSlice& own = slices[static_cast<std::size_t>(rank)];
  ExchangeNeeds needs;
  needs.payload_bytes = nn::bytes_of(rounds(options) ? nn::Precision::kBf16 : options.values);
  for (const TableSpec& table : tables) needs.value_columns += table.width;
  std::int64_t own_shards = 0;
  for (const TableShard& shard : placement.shards) {
    needs.shard_columns += shard.columns;
    if (shard.rank != rank) continue;
    needs.owned_columns += shard.columns;
    ++own_shards;
  }
  const std::int64_t owned = needs.payload_bytes * needs.owned_columns;
  const std::int64_t shared = needs.payload_bytes * needs.shard_columns;
  needs.forward_bytes = (own.total - own.count) * owned;
  needs.backward_bytes = own.count * (shared - owned);
  // Values that are sent from where they are need no packing buffer.
  const bool is_cut = options.variant == AlltoallVariant::kScatterList && own_shards > 1;
  if (slices.size() > 1 && (rounds(options) || is_cut)) needs.at_owner_bytes = own.total * owned;
  if (slices.size() > 1 || rounds(options)) needs.at_samples_bytes = own.count * shared;
  return needs;
}

EmbeddingExchange::EmbeddingExchange(const runner::Communicator& world,
                                     telemetry::Telemetry& telemetry,
                                     std::span<const TableSpec> tables,
                                     const TablePlacement& placement,
                                     std::vector<nn::PassSlice> slices,
                                     const EmbeddingExchangeOptions& options)
    : ids_(require_fit(world, tables, placement), telemetry, tables, placement, slices),
      world_(world.duplicate()),
      telemetry_(telemetry),
      slices_(std::move(slices)),
      slice_(slices_[static_cast<std::size_t>(world.rank())]),
      variant_(options.variant),
      values_(options.values),
      rounds_(rounds(options)),
      needs_(exchange_needs(tables, placement, slices_, world.rank(), options)),
      kernels_(nn::kernels(options.instruction_set)),
      at_owner_(nn::aligned_bytes(needs_.at_owner_bytes)),
      at_samples_(nn::aligned_bytes(needs_.at_samples_bytes)),
      transfer_(telemetry) {
  add_groups(tables, placement);
}

void EmbeddingExchange::add_groups(std::span<const TableSpec> tables,
                                   const TablePlacement& placement) {
  std::vector<std::int64_t> first_of_table;
  std::int64_t width = 0, on_owner = 0, before = 0;
  for (const TableSpec& table : tables) {
    first_of_table.push_back(width);
    width += table.width;
  }
  for (const TableShard& shard : placement.shards) {
    const bool same_owner = !groups_.empty() && groups_.back().owner == shard.rank;
    if (!same_owner) on_owner = 0;
    if (!same_owner || variant_ == AlltoallVariant::kScatterList) {
      groups_.push_back({shard.rank, 0, before, on_owner, {}});
    }
    Group& group = groups_.back();
    const std::int64_t in_value =
        first_of_table[static_cast<std::size_t>(shard.table)] + shard.first_column;
    group.pieces.push_back({on_owner, in_value, group.columns, shard.columns});
    is_whole_ = is_whole_ && on_owner == in_value;
    group.columns += shard.columns;
    on_owner += shard.columns;
    before += shard.columns;
  }
}

bool EmbeddingExchange::is_local() const {
  return world_.size() == 1 && is_whole_ && owned_columns() == value_columns() && !rounds_;
}

int EmbeddingExchange::operations() const {
  return variant_ == AlltoallVariant::kAlltoall ? 1 : static_cast<int>(groups_.size());
}

template <class From, class To>
void EmbeddingExchange::move_rows(const Group& group, std::int64_t rows, const From* from,
                                  const Side& from_side, To* to, const Side& to_side) const {
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const Piece& piece : group.pieces) {
      move_values(kernels_, from + row * from_side.stride + piece.*from_side.place,
                  to + row * to_side.stride + piece.*to_side.place, piece.columns);
    }
  }
}

template <class P>
P* EmbeddingExchange::at_owner(const Group& group) const {
  return reinterpret_cast<P*>(at_owner_.data()) + slice_.total * group.before_it_on_owner;
}

template <class P>
P* EmbeddingExchange::at_samples(const Group& group) const {
  return reinterpret_cast<P*>(at_samples_.data()) + slice_.count * group.before_it;
}

std::span<std::byte> EmbeddingExchange::bytes_at_samples() const {
  return span_of(bytes_in(at_samples_), slice_.count * needs_.shard_columns * needs_.payload_bytes);
}

std::span<std::byte> EmbeddingExchange::bytes_at_samples(const Group& group) const {
  const std::int64_t row = slice_.count * needs_.payload_bytes;
  return bytes_at_samples().subspan(static_cast<std::size_t>(row * group.before_it),
                                    static_cast<std::size_t>(row * group.columns));
}

/// The bytes of a group within `own`, this rank's packed groups; empty for other ranks' groups.
template <class Byte>
std::span<Byte> EmbeddingExchange::bytes_at_owner(Byte* own, const Group& group) const {
  if (!is_own(group)) return {};
  const std::int64_t row = slice_.total * needs_.payload_bytes;
  return span_of(own + row * group.before_it_on_owner, row * group.columns);
}

runner::RankParts EmbeddingExchange::parts_at_owner(std::int64_t columns) const {
  std::vector<std::int64_t> counts;
  for (const nn::PassSlice& slice : slices_) {
    counts.push_back(slice.count * columns * needs_.payload_bytes);
  }
  runner::RankParts parts = runner::consecutive_parts(std::move(counts));
  parts.counts[static_cast<std::size_t>(world_.rank())] = 0;  // local values are copied without MPI
  return parts;
}

runner::RankParts EmbeddingExchange::parts_at_samples() const {
  std::vector<std::int64_t> counts(slices_.size(), 0);
  for (const Group& group : groups_) {
    counts[static_cast<std::size_t>(group.owner)] +=
        slice_.count * group.columns * needs_.payload_bytes;
  }
  runner::RankParts parts = runner::consecutive_parts(std::move(counts));
  parts.counts[static_cast<std::size_t>(world_.rank())] = 0;
  return parts;
}

void EmbeddingExchange::start_requests_forward(const std::byte* own) {
  if (variant_ == AlltoallVariant::kAlltoall) {
    const auto all = span_of(own, slice_.total * needs_.owned_columns * needs_.payload_bytes);
    transfer_.add(kEmbeddingsTransfer,
                  world_.start_alltoall(all, parts_at_owner(needs_.owned_columns),
                                        bytes_at_samples(), parts_at_samples()));
    return;
  }
  for (const Group& group : groups_) {
    transfer_.add(kEmbeddingsTransfer,
                  world_.start_scatter(bytes_at_owner(own, group), parts_at_owner(group.columns),
                                       bytes_at_samples(group), group.owner));
  }
}

void EmbeddingExchange::start_requests_backward(std::byte* own) {
  if (variant_ == AlltoallVariant::kAlltoall) {
    const auto all = span_of(own, slice_.total * needs_.owned_columns * needs_.payload_bytes);
    transfer_.add(kGradientsTransfer,
                  world_.start_alltoall(bytes_at_samples(), parts_at_samples(), all,
                                        parts_at_owner(needs_.owned_columns)));
    return;
  }
  for (const Group& group : groups_) {
    transfer_.add(kGradientsTransfer,
                  world_.start_gather(bytes_at_samples(group), bytes_at_owner(own, group),
                                      parts_at_owner(group.columns), group.owner));
  }
}

/// Calls move(first, count) for the rows before and the rows after this rank's samples.
template <class Move>
void EmbeddingExchange::for_rows_of_others(Move move) const {
  const std::int64_t behind = slice_.first + slice_.count;
  move(0, slice_.first);
  move(behind, slice_.total - behind);
}

template <class T, class P>
void EmbeddingExchange::forward_from(const T* owned) {
  if (world_.size() == 1) return;
  for (const Group& group : groups_) {
    if (!is_staged() || !is_own(group)) continue;
    for_rows_of_others([&](std::int64_t first, std::int64_t rows) {
      move_rows(group, rows, owned + first * needs_.owned_columns, owned_side(),
                at_owner<P>(group) + first * group.columns, packed_side(group));
    });
  }
  start_requests_forward(is_staged() ? bytes_in(at_owner_)
                                     : reinterpret_cast<const std::byte*>(owned));
}

template <class T, class P>
void EmbeddingExchange::forward_to(const T* owned, T* value) {
  const T* const own_rows = owned + slice_.first * needs_.owned_columns;
  for (const Group& group : groups_) {
    if (!is_own(group)) continue;
    if constexpr (std::is_same_v<T, P>) {
      move_rows(group, slice_.count, own_rows, owned_side(), value, value_side());
    } else {
      P* const packed = at_samples<P>(group);
      move_rows(group, slice_.count, own_rows, owned_side(), packed, packed_side(group));
      move_rows(group, slice_.count, packed, packed_side(group), value, value_side());
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (is_own(group)) continue;
    transfer_.wait(variant_ == AlltoallVariant::kAlltoall ? 0 : i);
    move_rows(group, slice_.count, at_samples<P>(group), packed_side(group), value, value_side());
  }
  transfer_.wait_all();
}

template <class T, class P>
void EmbeddingExchange::backward_from(const T* gradient, T* owned_gradient) {
  for (const Group& group : groups_) {
    if (is_own(group) && std::is_same_v<T, P>) continue;
    move_rows(group, slice_.count, gradient, value_side(), at_samples<P>(group),
              packed_side(group));
  }
  if (world_.size() > 1) {
    start_requests_backward(is_staged() ? bytes_in(at_owner_)
                                        : reinterpret_cast<std::byte*>(owned_gradient));
  }
  T* const own_rows = owned_gradient + slice_.first * needs_.owned_columns;
  for (const Group& group : groups_) {
    if (!is_own(group)) continue;
    if constexpr (std::is_same_v<T, P>) {
      move_rows(group, slice_.count, gradient, value_side(), own_rows, owned_side());
    } else {
      move_rows(group, slice_.count, at_samples<P>(group), packed_side(group), own_rows,
                owned_side());
    }
  }
}

template <class T, class P>
void EmbeddingExchange::backward_to(T* owned_gradient) {
  transfer_.wait_all();
  for (const Group& group : groups_) {
    if (!is_staged() || !is_own(group)) continue;
    for_rows_of_others([&](std::int64_t first, std::int64_t rows) {
      move_rows(group, rows, at_owner<P>(group) + first * group.columns, packed_side(group),
                owned_gradient + first * needs_.owned_columns, owned_side());
    });
  }
}

void EmbeddingExchange::change(Phase from, Phase to, std::size_t value_bytes) {
  if (phase_ != from) fail_embedding_exchange("start and finish were not called in turn");
  if (std::cmp_not_equal(value_bytes, nn::bytes_of(values_))) {
    fail_embedding_exchange(fmt::format("expected values in {}, got {} bytes of each",
                                        nn::to_string(values_), value_bytes));
  }
  phase_ = to;
}

template <class T>
void EmbeddingExchange::start_forward(const T* owned) {
  const Scope scope(telemetry_, Subsystem::kExchange);
  change(Phase::kNone, Phase::kForward, sizeof(T));
  from_ = owned;
  rounds_ ? forward_from<T, Bf16>(owned) : forward_from<T, T>(owned);
}

template <class T>
void EmbeddingExchange::finish_forward(T* value) {
  const Scope scope(telemetry_, Subsystem::kExchange);
  change(Phase::kForward, Phase::kNone, sizeof(T));
  const auto* const owned = static_cast<const T*>(from_);
  rounds_ ? forward_to<T, Bf16>(owned, value) : forward_to<T, T>(owned, value);
}

template <class T>
void EmbeddingExchange::start_backward(const T* gradient, T* owned_gradient) {
  const Scope scope(telemetry_, Subsystem::kExchange);
  change(Phase::kNone, Phase::kBackward, sizeof(T));
  to_ = owned_gradient;
  rounds_ ? backward_from<T, Bf16>(gradient, owned_gradient)
          : backward_from<T, T>(gradient, owned_gradient);
}

template <class T>
void EmbeddingExchange::finish_backward() {
  const Scope scope(telemetry_, Subsystem::kExchange);
  change(Phase::kBackward, Phase::kNone, sizeof(T));
  auto* const owned_gradient = static_cast<T*>(to_);
  rounds_ ? backward_to<T, Bf16>(owned_gradient) : backward_to<T, T>(owned_gradient);
}

void EmbeddingExchange::progress() {
  ids_.progress();
  if (!transfer_.is_under_way()) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  transfer_.test();
}

template void EmbeddingExchange::start_forward(const float*);
template void EmbeddingExchange::start_forward(const Bf16*);
template void EmbeddingExchange::finish_forward(float*);
template void EmbeddingExchange::finish_forward(Bf16*);
template void EmbeddingExchange::start_backward(const float*, float*);
template void EmbeddingExchange::start_backward(const Bf16*, Bf16*);
template void EmbeddingExchange::finish_backward<float>();
template void EmbeddingExchange::finish_backward<Bf16>();

}  // namespace parallel

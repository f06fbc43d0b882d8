// One alltoall of ids, after one of bag lengths if those vary.
#include "workloads/parallel/hybrid/id_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/narrow.h"

namespace parallel {
namespace {

using telemetry::Scope;
using telemetry::Subsystem;

constexpr std::int64_t kIdBytes = sizeof(std::int32_t);

runner::RankParts parts_of_ids(std::vector<std::int64_t> counts) {
  for (std::int64_t& count : counts) count *= kIdBytes;
  return runner::consecutive_parts(std::move(counts));
}

std::size_t total(const std::vector<std::int64_t>& counts) {
  return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
}

[[noreturn]] void fail_id_exchange(const std::string& message) {
  throw base::Error(base::ExitCode::kInternal, "exchange of ids: " + message);
}

std::vector<std::int64_t> sizes_of(std::span<const TableSpec> tables) {
  std::vector<std::int64_t> sizes;
  for (const TableSpec& table : tables) sizes.push_back(table.bag_size);
  return sizes;
}

}  // namespace

std::vector<nn::PassSlice> require_slices(std::vector<nn::PassSlice> slices, int ranks) {
  std::int64_t next = 0;
  bool fit = std::cmp_equal(slices.size(), ranks);
  for (const nn::PassSlice& slice : slices) {
    fit = fit && slice.first == next && slice.count >= 0 && slice.total == slices.front().total;
    next += slice.count;
  }
  if (!fit || slices.empty() || next != slices.front().total) {
    throw base::ShapeError(fmt::format(
        "exchange of embeddings: expected {} slices in order that make a batch, got {} of {} "
        "samples together",
        ranks, slices.size(), next));
  }
  return slices;
}

IdNeeds id_needs(std::span<const TableSpec> tables, const TablePlacement& placement,
                 std::span<const nn::PassSlice> slices, int rank) {
  const nn::PassSlice& own = slices[static_cast<std::size_t>(rank)];
  IdNeeds needs;
  for (const TableShard& shard : placement.shards) {
    const std::int64_t bag = kIdBytes * tables[static_cast<std::size_t>(shard.table)].bag_size;
    needs.buffer_bytes += own.count * bag;
    if (shard.rank != rank) {
      needs.bytes_sent += own.count * bag;
    } else {  // as received, and sorted by shard
      const auto offset_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
      needs.buffer_bytes += 2 * own.total * bag + (own.total + 1) * offset_bytes;
    }
  }
  return needs;
}

IdExchange::IdExchange(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                       std::span<const TableSpec> tables, const TablePlacement& placement,
                       std::vector<nn::PassSlice> slices)
    : rank_(static_cast<std::size_t>(world.rank())),
      slices_(require_slices(std::move(slices), world.size())),
      bag_sizes_(sizes_of(tables)),
      world_(world.duplicate()),
      tables_of_rank_(static_cast<std::size_t>(world.size())),
      transfer_(telemetry) {
  for (const TableShard& shard : placement.shards) {
    const auto table = static_cast<std::size_t>(shard.table);
    tables_of_rank_.at(static_cast<std::size_t>(shard.rank)).push_back(table);
    lengths_vary_ = lengths_vary_ || bag_sizes_[table] == 0;
  }
  const auto batch = static_cast<std::size_t>(own_slice().total);
  for (const std::size_t table : tables_of_rank_[rank_]) {
    Shard& shard = shards_.emplace_back();
    shard.table = table;
    for (std::size_t i = 0; i <= batch; ++i) {
      shard.offsets.push_back(static_cast<std::int64_t>(i) * bag_sizes_[table]);
    }
  }
  for (std::size_t r = 0; r < tables_of_rank_.size() && !lengths_vary_; ++r) {
    ids_to_.push_back(0);
    for (const std::size_t table : tables_of_rank_[r]) {
      ids_to_.back() += own_slice().count * bag_sizes_[table];
    }
  }
  if (!lengths_vary_) bytes_sent_ = id_needs(tables, placement, slices_, world.rank()).bytes_sent;
  for (const std::int64_t size : bag_sizes_) {
    std::vector<std::int64_t>& offsets = offsets_of_size_[size];
    for (auto i = std::ssize(offsets); i <= own_slice().count; ++i) offsets.push_back(i * size);
  }
}

void IdExchange::require_local(std::span<const nn::Bags> local) const {
  if (is_started_) fail_id_exchange("the one before was not finished");
  if (local.size() != bag_sizes_.size()) {
    fail_id_exchange(
        fmt::format("expected bags of {} tables, got {}", bag_sizes_.size(), local.size()));
  }
  for (std::size_t table = 0; table < local.size(); ++table) {
    const nn::Bags& bags = local[table];
    bool fit = bags.count() == own_slice().count;
    for (std::size_t i = 1; fit && bag_sizes_[table] > 0 && i < bags.offsets.size(); ++i) {
      fit = bags.offsets[i] - bags.offsets[i - 1] == bag_sizes_[table];
    }
    if (!fit) {
      fail_id_exchange(fmt::format(
          "table {}: expected {} bags of {} ids, got {} of {} together", table, own_slice().count,
          bag_sizes_[table] > 0 ? std::to_string(bag_sizes_[table]) : "any", bags.count(),
          bags.lookups()));
    }
  }
}

void IdExchange::start(std::span<const std::int32_t> local) {
  const std::int64_t count = own_slice().count;
  const std::int64_t in_a_bag =
      std::accumulate(bag_sizes_.begin(), bag_sizes_.end(), std::int64_t{0});
  if (std::ranges::count(bag_sizes_, 0) > 0 || std::cmp_not_equal(local.size(), count * in_a_bag)) {
    fail_id_exchange(fmt::format("expected {} ids for each of {} samples, got {} together",
                                 in_a_bag, count, local.size()));
  }
  std::vector<nn::Bags> bags;
  for (const std::int64_t size : bag_sizes_) {
    const auto ids = static_cast<std::size_t>(count * size);
    bags.push_back({local.first(ids), offsets_of_size_.at(size)});
    local = local.subspan(ids);
  }
  start(bags);
}

void IdExchange::pack_ids(std::span<const nn::Bags> local) {
  if (lengths_vary_) ids_to_.assign(tables_of_rank_.size(), 0);
  ids_out_.clear();
  for (std::size_t r = 0; r < tables_of_rank_.size(); ++r) {
    const std::size_t before = ids_out_.size();
    for (const std::size_t table : tables_of_rank_[r]) {
      const nn::Bags& bags = local[table];
      if (bags.lookups() == 0) continue;
      const auto ids = bags.ids.subspan(static_cast<std::size_t>(bags.offsets.front()),
                                        static_cast<std::size_t>(bags.lookups()));
      ids_out_.insert(ids_out_.end(), ids.begin(), ids.end());
    }
    ids_to_[r] = static_cast<std::int64_t>(ids_out_.size() - before);
    if (r != rank_) bytes_sent_ += kIdBytes * ids_to_[r];
  }
}

void IdExchange::pack_lengths(std::span<const nn::Bags> local) {
  std::vector<std::int64_t> to, from;
  const auto varying_of = [&](std::size_t rank) {
    return std::ranges::count_if(tables_of_rank_[rank],
                                 [&](std::size_t table) { return bag_sizes_[table] == 0; });
  };
  lengths_out_.clear();
  for (std::size_t r = 0; r < tables_of_rank_.size(); ++r) {
    to.push_back(varying_of(r) * own_slice().count);
    from.push_back(varying_of(rank_) * slices_[r].count);
    if (r != rank_) bytes_sent_ += kIdBytes * to.back();
    for (const std::size_t table : tables_of_rank_[r]) {
      if (bag_sizes_[table] > 0) continue;
      const auto& offsets = local[table].offsets;
      for (std::size_t i = 1; i < offsets.size(); ++i) {
        lengths_out_.push_back(base::narrow<std::int32_t>(offsets[i] - offsets[i - 1]));
      }
    }
  }
  lengths_in_.resize(total(from));
  transfer_.add(
      "lengths of bags",
      world_.start_alltoall(std::as_bytes(std::span(lengths_out_)), parts_of_ids(to),
                            std::as_writable_bytes(std::span(lengths_in_)), parts_of_ids(from)));
}

void IdExchange::start(std::span<const nn::Bags> local) {
  const Scope scope(transfer_.telemetry(), Subsystem::kExchange);
  require_local(local);
  is_started_ = true;
  ids_are_started_ = false;
  bytes_sent_ = 0;
  if (lengths_vary_) pack_lengths(local);
  pack_ids(local);
  if (!lengths_vary_) start_ids();
}

std::vector<std::int64_t> IdExchange::arriving() const {
  std::vector<std::int64_t> counts;
  auto length = lengths_in_.begin();
  for (const nn::PassSlice& slice : slices_) {
    for (const Shard& shard : shards_) {
      const std::int64_t size = bag_sizes_[shard.table];
      counts.push_back(size * slice.count);
      if (size > 0) continue;
      counts.back() = std::accumulate(length, length + slice.count, std::int64_t{0});
      length += slice.count;
    }
  }
  return counts;
}

void IdExchange::start_ids() {
  std::vector<std::int64_t> from(slices_.size(), 0);
  const std::vector<std::int64_t> counts = arriving();
  for (std::size_t i = 0; i < counts.size(); ++i) from[i / shards_.size()] += counts[i];
  ids_in_.resize(total(from));
  ids_are_started_ = true;
  transfer_.add("ids",
                world_.start_alltoall(std::as_bytes(std::span(ids_out_)), parts_of_ids(ids_to_),
                                      std::as_writable_bytes(std::span(ids_in_)),
                                      parts_of_ids(std::move(from))));
}

void IdExchange::progress() {
  if (!transfer_.is_under_way()) return;
  const Scope scope(transfer_.telemetry(), Subsystem::kExchange);
  // The exchanges of lengths and of ids have a communicator of their own and a fixed order, so
  // ranks may start the second at different times.
  if (transfer_.test() && !ids_are_started_) start_ids();
}

void IdExchange::unpack_lengths() {
  auto length = lengths_in_.begin();
  for (const nn::PassSlice& slice : slices_) {
    for (Shard& shard : shards_) {
      if (bag_sizes_[shard.table] > 0) continue;
      const auto first = static_cast<std::size_t>(slice.first);
      for (std::size_t i = first; i < first + static_cast<std::size_t>(slice.count); ++i) {
        shard.offsets[i + 1] = shard.offsets[i] + *length++;
      }
    }
  }
}

std::span<const nn::Bags> IdExchange::finish() {
  const Scope scope(transfer_.telemetry(), Subsystem::kExchange);
  if (!std::exchange(is_started_, false)) fail_id_exchange("none was started");
  transfer_.wait_all();
  if (!ids_are_started_) {
    start_ids();
    transfer_.wait_all();
  }
  unpack_lengths();
  const std::vector<std::int64_t> counts = arriving();
  for (Shard& shard : shards_) shard.ids.resize(static_cast<std::size_t>(shard.offsets.back()));
  auto from = ids_in_.cbegin();
  for (std::size_t i = 0; i < counts.size(); from += counts[i++]) {
    Shard& shard = shards_[i % shards_.size()];
    const auto first = static_cast<std::size_t>(slices_[i / shards_.size()].first);
    std::copy_n(from, counts[i], shard.ids.begin() + shard.offsets[first]);
  }
  bags_.clear();
  for (const Shard& shard : shards_) bags_.push_back({shard.ids, shard.offsets});
  return bags_;
}

}  // namespace parallel

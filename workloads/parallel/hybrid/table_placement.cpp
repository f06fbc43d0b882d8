// Longest-processing-time-first packing with two loads, bytes and elements read.
#include "workloads/parallel/hybrid/table_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"

namespace parallel {
namespace {

/// A placement with at most this balance is not split further: each split sends and looks up the
/// table's ids once more.
constexpr double kGoodBalance = 1.10;
/// Tables above this fraction of the mean load of a rank are split; tried in this order.
constexpr std::array kFractions = {1.0, 0.75, 0.5, 0.375, 0.25, 0.1875, 0.125, 0.0625};

/// Columns of a table that are assigned together.
struct TablePart {
  int table = 0;
  std::int64_t columns = 0, bytes = 0;
  double elements_read = 0.0;
  double load = 0.0;  ///< fraction of all bytes or of all elements read, whichever is larger
};

struct Totals {
  double bytes = 0.0, elements_read = 0.0;
  double load(double some_bytes, double some_elements) const {
    return std::max(bytes > 0 ? some_bytes / bytes : 0.0,
                    elements_read > 0 ? some_elements / elements_read : 0.0);
  }
};

/// The number of columns of each table on each rank, or the first part that fits on no rank.
struct Packing {
  std::vector<std::vector<std::int64_t>> columns;  ///< [table][rank]
  std::optional<TablePart> unplaced;
  std::int64_t missing_bytes = 0;
};

class Planner {
 public:
  Planner(std::span<const TableSpec> tables, const PlacementOptions& options)
      : tables_(tables), options_(options) {
    for (int table = 0; table < static_cast<int>(tables.size()); ++table) {
      const TableSpec& spec = tables_[static_cast<std::size_t>(table)];
      if (spec.rows <= options_.replicate_up_to_rows) {
        replicated_.push_back(table);
        replicated_bytes_ += bytes_of(table, spec.width);
      } else {
        const TablePart whole = part(table, spec.width);
        totals_.bytes += static_cast<double>(whole.bytes);
        totals_.elements_read += whole.elements_read;
      }
    }
  }

  TablePlacement plan() const {
    require_room_for_replicated();
    Packing packing = pack(cut(std::numeric_limits<double>::infinity()));
    std::optional<TablePlacement> best;
    if (!packing.unplaced) best = placement_of(packing);
    for (const double fraction : kFractions) {
      if (!options_.may_split || (best && best->balance <= kGoodBalance)) break;
      packing = pack(cut(fraction / options_.ranks));
      if (packing.unplaced) continue;
      TablePlacement finer = placement_of(packing);
      if (!best || finer.balance < best->balance) best = std::move(finer);
    }
    if (!best) refuse(packing);
    return *std::move(best);
  }

 private:
  std::int64_t bytes_of(int table, std::int64_t columns) const {
    return tables_[static_cast<std::size_t>(table)].rows *
           (columns * options_.bytes_per_element + options_.state_bytes_per_row);
  }

  TablePart part(int table, std::int64_t columns) const {
    TablePart part{table, columns, bytes_of(table, columns), 0.0, 0.0};
    part.elements_read =
        static_cast<double>(tables_[static_cast<std::size_t>(table)].bag_size * columns);
    part.load = totals_.load(static_cast<double>(part.bytes), part.elements_read);
    return part;
  }

  /// All tables except replicated ones, split into even parts where the load exceeds
  /// `largest_load`; in order of decreasing load.
  std::vector<TablePart> cut(double largest_load) const {
    std::vector<TablePart> parts;
    for (int table = 0; table < static_cast<int>(tables_.size()); ++table) {
      if (std::binary_search(replicated_.begin(), replicated_.end(), table)) continue;
      const std::int64_t width = tables_[static_cast<std::size_t>(table)].width;
      const std::int64_t step = options_.column_alignment;
      const std::int64_t steps = base::ceil_div(width, step);
      const double wanted = std::ceil(part(table, width).load / largest_load);
      const auto count =
          static_cast<std::int64_t>(std::clamp(wanted, 1.0, static_cast<double>(steps)));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = steps * i / count * step;
        const std::int64_t end = std::min(steps * (i + 1) / count * step, width);
        parts.push_back(part(table, end - begin));
      }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const TablePart& a, const TablePart& b) { return a.load > b.load; });
    return parts;
  }

  Packing pack(const std::vector<TablePart>& parts) const {
    const auto ranks = static_cast<std::size_t>(options_.ranks);
    std::vector<RankTables> used(ranks);
    Packing packing;
    packing.columns.assign(tables_.size(), std::vector<std::int64_t>(ranks));
    for (const TablePart& part : parts) {
      // A rank that already has columns of the table needs its state per row only once.
      const auto bytes_on = [&](std::size_t rank) {
        auto& columns = packing.columns[static_cast<std::size_t>(part.table)][rank];
        return columns == 0
                   ? part.bytes
                   : bytes_of(part.table, columns + part.columns) - bytes_of(part.table, columns);
      };
      std::optional<std::size_t> chosen;
      std::tuple<double, double> least;
      std::int64_t missing = std::numeric_limits<std::int64_t>::max();
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::int64_t bytes = used[rank].bytes + bytes_on(rank);
        const std::int64_t over = bytes + replicated_bytes_ - options_.memory_limit_bytes;
        if (options_.memory_limit_bytes > 0 && over > 0) {
          missing = std::min(missing, over);
          continue;
        }
        const double elements = used[rank].elements_read + part.elements_read;
        const std::tuple load(totals_.load(static_cast<double>(bytes), elements),
                              static_cast<double>(bytes) / std::max(totals_.bytes, 1.0) +
                                  elements / std::max(totals_.elements_read, 1.0));
        if (!chosen || load < least) std::tie(chosen, least) = std::pair(rank, load);
      }
      if (!chosen) {
        packing.unplaced = part;
        packing.missing_bytes = missing;
        return packing;
      }
      used[*chosen].bytes += bytes_on(*chosen);
      used[*chosen].elements_read += part.elements_read;
      packing.columns[static_cast<std::size_t>(part.table)][*chosen] += part.columns;
    }
    return packing;
  }

  /// Assigns a table's columns to its ranks in rank order, except that a rank whose number of
  /// columns is no multiple of the alignment gets the last columns.
  std::vector<TableShard> shards_of(int table, const std::vector<std::int64_t>& columns) const {
    std::vector<TableShard> shards;
    for (std::size_t rank = 0; rank < columns.size(); ++rank) {
      if (columns[rank] > 0) shards.push_back({table, 0, columns[rank], static_cast<int>(rank)});
    }
    std::stable_partition(shards.begin(), shards.end(), [&](const TableShard& shard) {
      return shard.columns % options_.column_alignment == 0;
    });
    std::int64_t first = 0;
    for (TableShard& shard : shards)
      shard.first_column = std::exchange(first, first + shard.columns);
    return shards;
  }

  TablePlacement placement_of(const Packing& packing) const {
    TablePlacement placement;
    placement.replicated = replicated_;
    placement.replicated_bytes = replicated_bytes_;
    placement.ranks.resize(static_cast<std::size_t>(options_.ranks));
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      const auto shards = shards_of(static_cast<int>(table), packing.columns[table]);
      placement.shards.insert(placement.shards.end(), shards.begin(), shards.end());
    }
    std::ranges::stable_sort(placement.shards, {}, &TableShard::rank);
    for (const TableShard& shard : placement.shards) {
      const TablePart all = part(shard.table, shard.columns);
      RankTables& rank = placement.ranks[static_cast<std::size_t>(shard.rank)];
      rank.bytes += all.bytes;
      rank.elements_read += all.elements_read;
    }
    placement.byte_balance = balance_of(
        placement.ranks, [](const RankTables& rank) { return static_cast<double>(rank.bytes); });
    placement.read_balance =
        balance_of(placement.ranks, [](const RankTables& rank) { return rank.elements_read; });
    placement.balance = std::max(placement.byte_balance, placement.read_balance);
    for (RankTables& rank : placement.ranks) rank.bytes += replicated_bytes_;
    return placement;
  }

  template <class Figure>
  static double balance_of(const std::vector<RankTables>& ranks, Figure figure) {
    double sum = 0.0, largest = 0.0;
    for (const RankTables& rank : ranks) {
      sum += figure(rank);
      largest = std::max(largest, figure(rank));
    }
    return sum > 0.0 ? largest * static_cast<double>(ranks.size()) / sum : 1.0;
  }

  void require_room_for_replicated() const {
    const std::int64_t over = replicated_bytes_ - options_.memory_limit_bytes;
    if (options_.memory_limit_bytes == 0 || over <= 0) return;
    throw base::ConfigError(fmt::format(
        "table placement: {} tables of at most {} rows are on every rank: expected {} bytes of "
        "them at most, {} are missing for {}",
        replicated_.size(), options_.replicate_up_to_rows, options_.memory_limit_bytes, over,
        replicated_bytes_));
  }

  [[noreturn]] void refuse(const Packing& packing) const {
    const TablePart& part = *packing.unplaced;
    const TableSpec& table = tables_[static_cast<std::size_t>(part.table)];
    throw base::ConfigError(fmt::format(
        "table placement: table \"{}\" [{}, {}]: {} of its columns ({} bytes) fit on none of {} "
        "ranks of {} bytes each, the best of which lacks {} bytes; all tables together take {:.0f}",
        table.name, table.rows, table.width, part.columns, part.bytes, options_.ranks,
        options_.memory_limit_bytes, packing.missing_bytes,
        totals_.bytes + static_cast<double>(replicated_bytes_) * options_.ranks));
  }

  std::span<const TableSpec> tables_;
  const PlacementOptions& options_;
  std::vector<int> replicated_;
  std::int64_t replicated_bytes_ = 0;
  Totals totals_;
};

void check_arguments(std::span<const TableSpec> tables, const PlacementOptions& options) {
  for (const TableSpec& table : tables) {
    if (table.rows < 1 || table.width < 1 || table.bag_size < 0) {
      throw base::ConfigError(fmt::format(
          "table placement: table \"{}\": expected rows, columns and a size of bags, got {}, "
          "{} and {}",
          table.name, table.rows, table.width, table.bag_size));
    }
  }
  if (options.ranks < 1 || options.bytes_per_element < 1 || options.column_alignment < 1 ||
      options.state_bytes_per_row < 0 || options.memory_limit_bytes < 0) {
    throw base::ConfigError(
        fmt::format("table placement: expected ranks, bytes of an element and a column alignment "
                    "of at least 1, "
                    "and no negative bytes, got {}, {}, {}, {} and {}",
                    options.ranks, options.bytes_per_element, options.column_alignment,
                    options.state_bytes_per_row, options.memory_limit_bytes));
  }
}

}  // namespace

void require_placement(std::span<const TableSpec> tables, const TablePlacement& placement,
                       int ranks) {
  std::vector<std::vector<int>> seen;
  for (const TableSpec& table : tables) seen.emplace_back(static_cast<std::size_t>(table.width), 0);
  for (const int table : placement.replicated) {
    std::ranges::fill(seen.at(static_cast<std::size_t>(table)), 1);
  }
  const auto& shards = placement.shards;
  if (!std::ranges::is_sorted(shards, {}, &TableShard::rank) ||
      (!shards.empty() && (shards.front().rank < 0 || shards.back().rank >= ranks))) {
    throw base::ShapeError(
        fmt::format("table placement: expected shards of {} ranks in their order", ranks));
  }
  for (const TableShard& shard : shards) {
    std::vector<int>& columns = seen.at(static_cast<std::size_t>(shard.table));
    const std::int64_t end = shard.first_column + shard.columns;
    if (shard.first_column < 0 || shard.columns < 1 || std::cmp_greater(end, columns.size())) {
      throw base::ShapeError(fmt::format("table placement: table \"{}\": no columns [{}, {})",
                                         tables[static_cast<std::size_t>(shard.table)].name,
                                         shard.first_column, end));
    }
    for (std::int64_t i = shard.first_column; i < end; ++i) ++columns[static_cast<std::size_t>(i)];
  }
  for (std::size_t table = 0; table < seen.size(); ++table) {
    if (std::ranges::count(seen[table], 1) == tables[table].width) continue;
    throw base::ShapeError(fmt::format(
        "table placement: table \"{}\": expected each of {} columns on one rank, or all on "
        "every rank, found {}",
        tables[table].name, tables[table].width, std::ranges::count(seen[table], 1)));
  }
}

TablePlacement place_tables(std::span<const TableSpec> tables, const PlacementOptions& options) {
  check_arguments(tables, options);
  return Planner(tables, options).plan();
}

}  // namespace parallel

// Which rank has which columns of which embedding table.
// Hides how tables are cut and shared out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace parallel {

/// A table of embeddings [rows, width].
struct TableSpec {
  std::string name;
  std::int64_t rows = 0, width = 0;
  std::int64_t bag_size = 1;  ///< rows that every sample adds up; 0: they vary
};

/// Columns [first_column, first_column + columns) of a table, on one rank.
struct TableShard {
  int table = 0;
  std::int64_t first_column = 0, columns = 0;
  int rank = 0;
  bool operator==(const TableShard&) const = default;
};

struct PlacementOptions {
  int ranks = 1;
  std::int64_t bytes_per_element = 4;
  std::int64_t state_bytes_per_row = 0;   ///< beside the elements, once for each shard of a table
  std::int64_t memory_limit_bytes = 0;    ///< of a rank for its tables; 0: none
  std::int64_t replicate_up_to_rows = 0;  ///< tables of at most so many rows are on every rank
  std::int64_t column_alignment = 16;     ///< a table is cut at multiples of it
  bool may_split = true;
};

/// What one rank has.
struct RankTables {
  std::int64_t bytes = 0;    ///< of its shards and of the replicated tables
  double elements_read = 0;  ///< per sample, of its shards: bag_size * columns
};

struct TablePlacement {
  std::vector<TableShard> shards;  ///< by rank, then table; at most one of a table on a rank
  std::vector<int> replicated;     ///< tables that are on every rank, in order
  std::vector<RankTables> ranks;
  std::int64_t replicated_bytes = 0;  ///< on each rank
  /// The largest of a rank over the mean: of the bytes of its shards, of elements_read, and the
  /// worse of both; 1 where there are none.
  double byte_balance = 1.0, read_balance = 1.0, balance = 1.0;
};

/// Shares out bytes and elements read at once. The load of a part is the larger of its two shares
/// of all tables' sums; parts go, heaviest first, each to the rank that becomes the least loaded
/// (longest processing time first) of those whose memory holds it. Tables stay whole while that is
/// balanced; else those heavier than a rank's mean, or an ever smaller fraction of it, are cut. The
/// same arguments give the same placement. A rank may come out without any shard. Throws
/// ConfigError, which says which table fits nowhere and how much is missing, and for tables or
/// options that mean nothing.
/// Source: placement by capacity and lookups * width: Zion, arXiv:2003.09518; column cuts where
/// ranks exceed tables: Kalamkar et al., arXiv:2005.04680, and Intel's MLPerf v1.0 submission.
TablePlacement place_tables(std::span<const TableSpec> tables, const PlacementOptions& options);

/// Throws ShapeError unless each column of a table is in one shard, or the table replicated, and
/// the shards are of `ranks` ranks in their order.
void require_placement(std::span<const TableSpec> tables, const TablePlacement& placement,
                       int ranks);

/// {"ranks": [{"rank", "bytes", "elements_read", "shards": [{"table", "first_column",
/// "columns"}]}], "replicated": names, "replicated_bytes", "byte_balance", "read_balance",
/// "balance"}.
nlohmann::json to_json(const TablePlacement& placement, std::span<const TableSpec> tables);
/// The same as lines for people.
std::string describe(const TablePlacement& placement, std::span<const TableSpec> tables);

}  // namespace parallel

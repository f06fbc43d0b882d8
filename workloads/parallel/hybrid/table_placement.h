// Assigns columns of embedding tables to ranks.
// Hides the heuristic that splits tables and balances ranks.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace parallel {

/// An embedding table [rows, width].
struct TableSpec {
  std::string name;
  std::int64_t rows = 0, width = 0;
  std::int64_t bag_size = 1;  ///< rows that are summed per sample; 0: varies
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
  std::int64_t state_bytes_per_row = 0;   ///< in addition to the elements, in each shard of a table
  std::int64_t memory_limit_bytes = 0;    ///< for the tables of a rank; 0: no limit
  std::int64_t replicate_up_to_rows = 0;  ///< tables of at most this many rows are on every rank
  std::int64_t column_alignment = 16;     ///< tables are split at multiples of this many columns
  bool may_split = true;
};

/// The load of one rank.
struct RankTables {
  std::int64_t bytes = 0;    ///< of its shards and of the replicated tables
  double elements_read = 0;  ///< per sample, of its shards: bag_size * columns
};

struct TablePlacement {
  std::vector<TableShard> shards;  ///< by rank, then table; at most one per table and rank
  std::vector<int> replicated;     ///< tables that are on every rank, in order
  std::vector<RankTables> ranks;
  std::int64_t replicated_bytes = 0;  ///< on each rank
  /// The maximum over ranks divided by the mean: of the shards' bytes, of elements_read, and the
  /// larger of both; 1 without shards.
  double byte_balance = 1.0, read_balance = 1.0, balance = 1.0;
};

/// Balances both the bytes and the elements read of the ranks. The load of a part is its fraction
/// of all tables' bytes or of their elements read, whichever is larger. Parts are assigned in order
/// of decreasing load (longest processing time first), each to the rank with enough memory that
/// becomes the least loaded. Tables stay whole if that is balanced. Otherwise tables above the mean
/// load of a rank, then above ever smaller fractions of it, are split by columns. Deterministic. A
/// rank may get no shard. Throws ConfigError for invalid tables or options, and when a table fits
/// on no rank; the message says which table and how many bytes are missing.
/// Source: placement by capacity and lookups * width: Zion, arXiv:2003.09518; column splits if
/// ranks exceed tables: Kalamkar et al., arXiv:2005.04680, and Intel's MLPerf v1.0 submission.
TablePlacement place_tables(std::span<const TableSpec> tables, const PlacementOptions& options);

/// Throws ShapeError unless each column of each table is in exactly one shard or the table is
/// replicated, and the shards are sorted by rank in [0, ranks).
void require_placement(std::span<const TableSpec> tables, const TablePlacement& placement,
                       int ranks);

/// {"ranks": [{"rank", "bytes", "elements_read", "shards": [{"table", "first_column",
/// "columns"}]}], "replicated": names, "replicated_bytes", "byte_balance", "read_balance",
/// "balance"}.
nlohmann::json to_json(const TablePlacement& placement, std::span<const TableSpec> tables);
/// The same as readable text.
std::string describe(const TablePlacement& placement, std::span<const TableSpec> tables);

}  // namespace parallel

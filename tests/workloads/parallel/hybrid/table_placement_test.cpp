// Tests of table placement: balance for MLPerf's tables, and invariants for random tables.
#include "workloads/parallel/hybrid/table_placement.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "runner/base/error.h"

namespace parallel {
namespace {

using testing::HasSubstr;

std::vector<TableSpec> tables_of(const std::vector<std::int64_t>& rows, std::int64_t width) {
  std::vector<TableSpec> tables;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tables.push_back({"t" + std::to_string(i), rows[i], width, 1});
  }
  return tables;
}

/// Rows of MLPerf's DLRM tables: Criteo's ids modulo 40,000,000.
std::vector<TableSpec> mlperf_tables() {
  return tables_of({39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                    38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                    14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36},
                   128);
}

/// The larger of both balances if whole tables are assigned round robin.
double balance_of_round_robin(const std::vector<TableSpec>& tables, int ranks) {
  std::vector<double> bytes(static_cast<std::size_t>(ranks)), reads(bytes.size());
  double all_bytes = 0.0, all_reads = 0.0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto elements = static_cast<double>(tables[i].rows * tables[i].width);
    const auto read = static_cast<double>(tables[i].bag_size * tables[i].width);
    bytes[i % bytes.size()] += elements;
    reads[i % bytes.size()] += read;
    all_bytes += elements;
    all_reads += read;
  }
  return ranks * std::max(*std::ranges::max_element(bytes) / all_bytes,
                          *std::ranges::max_element(reads) / all_reads);
}

/// Expects every column of every table on exactly one rank or on all, and figures that agree with
/// the shards.
void expect_whole(const TablePlacement& placement, const std::vector<TableSpec>& tables,
                  const PlacementOptions& options) {
  std::vector<std::set<std::int64_t>> seen(tables.size());
  std::vector<RankTables> ranks(static_cast<std::size_t>(options.ranks));
  for (const TableShard& shard : placement.shards) {
    const TableSpec& table = tables[static_cast<std::size_t>(shard.table)];
    ASSERT_GT(shard.columns, 0);
    EXPECT_EQ(shard.first_column % options.column_alignment, 0);
    for (std::int64_t c = shard.first_column; c < shard.first_column + shard.columns; ++c) {
      EXPECT_TRUE(seen[static_cast<std::size_t>(shard.table)].insert(c).second) << "twice " << c;
    }
    RankTables& rank = ranks.at(static_cast<std::size_t>(shard.rank));
    rank.bytes +=
        table.rows * (shard.columns * options.bytes_per_element + options.state_bytes_per_row);
    rank.elements_read += static_cast<double>(table.bag_size * shard.columns);
  }
  std::int64_t replicated_bytes = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const bool is_replicated = std::ranges::count(placement.replicated, static_cast<int>(i)) == 1;
    EXPECT_EQ(is_replicated, tables[i].rows <= options.replicate_up_to_rows);
    EXPECT_EQ(seen[i].size(), is_replicated ? 0U : static_cast<std::size_t>(tables[i].width));
    if (!seen[i].empty()) {
      EXPECT_EQ(*seen[i].rbegin(), tables[i].width - 1);
    }
    if (is_replicated) {
      replicated_bytes += tables[i].rows * (tables[i].width * options.bytes_per_element +
                                            options.state_bytes_per_row);
    }
  }
  EXPECT_EQ(placement.replicated_bytes, replicated_bytes);
  ASSERT_EQ(placement.ranks.size(), ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(placement.ranks[r].bytes, ranks[r].bytes + replicated_bytes);
    EXPECT_DOUBLE_EQ(placement.ranks[r].elements_read, ranks[r].elements_read);
    if (options.memory_limit_bytes > 0) {
      EXPECT_LE(placement.ranks[r].bytes, options.memory_limit_bytes);
    }
  }
  const auto before = [](const TableShard& a, const TableShard& b) {
    return std::pair(a.rank, a.table) < std::pair(b.rank, b.table);  // strict: no equal pairs
  };
  EXPECT_EQ(std::ranges::adjacent_find(placement.shards,
                                       [&](const auto& a, const auto& b) { return !before(a, b); }),
            placement.shards.end());
}

std::string refusal(const std::vector<TableSpec>& tables, const PlacementOptions& options) {
  try {
    place_tables(tables, options);
  } catch (const base::ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(TablePlacement, BalancesMlperfsTablesWhereRoundRobinDoesNot) {
  constexpr double kBound = 1.15;  // as Zion's planner
  const std::vector<TableSpec> tables = mlperf_tables();
  for (const int ranks : {2, 4, 8}) {
    PlacementOptions options;
    options.ranks = ranks;
    const TablePlacement placement = place_tables(tables, options);
    expect_whole(placement, tables, options);
    EXPECT_LE(placement.byte_balance, kBound) << ranks;
    EXPECT_LE(placement.read_balance, kBound) << ranks;
    const double round_robin = balance_of_round_robin(tables, ranks);
    EXPECT_GT(round_robin, kBound) << ranks;
    RecordProperty("balance_" + std::to_string(ranks), std::to_string(placement.balance));
    RecordProperty("round_robin_" + std::to_string(ranks), std::to_string(round_robin));
  }
}

TEST(TablePlacement, KeepsTablesWholeAndInOrderOnOneRank) {
  const std::vector<TableSpec> tables = mlperf_tables();
  const TablePlacement placement = place_tables(tables, {});
  ASSERT_EQ(placement.shards.size(), tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(placement.shards[i], (TableShard{static_cast<int>(i), 0, 128, 0}));
  }
  EXPECT_EQ(placement.balance, 1.0);
}

TEST(TablePlacement, CutsColumnsWhereRanksExceedTables) {
  const std::vector<TableSpec> tables = tables_of({1000, 1000, 1000}, 64);
  PlacementOptions options;
  options.ranks = 6;
  const TablePlacement placement = place_tables(tables, options);
  expect_whole(placement, tables, options);
  EXPECT_DOUBLE_EQ(placement.balance, 1.0);
  options.may_split = false;
  const TablePlacement whole = place_tables(tables, options);
  expect_whole(whole, tables, options);
  EXPECT_EQ(whole.shards.size(), tables.size());
  EXPECT_DOUBLE_EQ(whole.balance, 2.0);
}

TEST(TablePlacement, CutsATableThatIsHeavierThanTheRest) {
  const std::vector<TableSpec> tables = tables_of({100000, 100, 100, 100}, 64);
  PlacementOptions options;
  options.ranks = 2;
  const TablePlacement placement = place_tables(tables, options);
  expect_whole(placement, tables, options);
  EXPECT_LT(placement.balance, 1.15);
  EXPECT_GT(placement.shards.size(), tables.size());
}

TEST(TablePlacement, WeighsLookupsOfTablesOfEqualSize) {
  std::vector<TableSpec> tables = tables_of({1000, 1000, 1000, 1000}, 64);
  tables[0].bag_size = tables[1].bag_size = 50;
  PlacementOptions options;
  options.ranks = 2;
  const TablePlacement placement = place_tables(tables, options);
  expect_whole(placement, tables, options);
  EXPECT_DOUBLE_EQ(placement.balance, 1.0);
}

TEST(TablePlacement, PutsSmallTablesOnEveryRank) {
  const std::vector<TableSpec> tables = mlperf_tables();
  PlacementOptions options;
  options.ranks = 4;
  options.replicate_up_to_rows = 2048;
  const TablePlacement placement = place_tables(tables, options);
  expect_whole(placement, tables, options);
  EXPECT_EQ(placement.replicated.size(), 10U);
}

TEST(TablePlacement, FillsMemoryRatherThanBalancingReads) {
  // The small table has all reads, the large one nearly all bytes; no rank can hold half of it.
  std::vector<TableSpec> tables = tables_of({3000, 10}, 64);
  tables[0].bag_size = 0;
  PlacementOptions options;
  options.ranks = 4;
  options.memory_limit_bytes = 3000 * 16 * 4 + 10 * 64 * 4;
  const TablePlacement placement = place_tables(tables, options);
  expect_whole(placement, tables, options);
  EXPECT_DOUBLE_EQ(placement.read_balance, 1.0);
}

TEST(TablePlacement, RefusesWhatDoesNotFitAndSaysWhatIsMissing) {
  const std::vector<TableSpec> tables = tables_of({1000, 500}, 32);
  PlacementOptions options;
  options.ranks = 2;
  options.may_split = false;
  options.memory_limit_bytes = 1000 * 32 * 4 - 100;
  EXPECT_THAT(refusal(tables, options),
              testing::AllOf(HasSubstr("table \"t0\" [1000, 32]"), HasSubstr("lacks 100 bytes")));
  options.may_split = true;
  expect_whole(place_tables(tables, options), tables, options);
  options.memory_limit_bytes = 1000 * 16 * 4 - 1;  // half of the larger one
  EXPECT_THAT(refusal(tables, options), HasSubstr("all tables together take 192000"));
  options.replicate_up_to_rows = 500;
  options.memory_limit_bytes = 500 * 32 * 4 - 1;
  EXPECT_THAT(refusal(tables, options), HasSubstr("1 are missing"));
}

TEST(TablePlacement, RefusesTablesAndOptionsWithoutMeaning) {
  EXPECT_THAT(refusal({{"none", 0, 16, 1}}, {}), HasSubstr("\"none\""));
  EXPECT_NE(refusal({{"thin", 5, 0, 1}}, {}), "");
  EXPECT_NE(refusal({{"odd", 5, 16, -1}}, {}), "");
  PlacementOptions options;
  options.ranks = 0;
  EXPECT_NE(refusal(mlperf_tables(), options), "");
}

TEST(TablePlacement, HoldsForAnyTables) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int refused = 0, placed = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<TableSpec> tables(static_cast<std::size_t>(draw(0, 30)));
    std::int64_t bytes = 0;
    PlacementOptions options;
    options.ranks = draw(1, 20);
    options.bytes_per_element = draw(1, 2) * 2;
    options.state_bytes_per_row = draw(0, 1) * 4;
    options.replicate_up_to_rows = draw(0, 2) * 10;
    options.column_alignment = draw(1, 20);
    options.may_split = draw(0, 3) > 0;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::int64_t rows = std::int64_t{1} << draw(0, 20);
      tables[i] = {"t" + std::to_string(i), rows, draw(1, 100), draw(0, 20)};
      bytes += rows * (tables[i].width * options.bytes_per_element + options.state_bytes_per_row);
    }
    if (draw(0, 1) == 1) options.memory_limit_bytes = 3 * bytes / (2 * options.ranks) + 1;
    try {
      const TablePlacement placement = place_tables(tables, options);
      expect_whole(placement, tables, options);
      EXPECT_EQ(place_tables(tables, options).shards, placement.shards);
      ++placed;
    } catch (const base::ConfigError&) {
      EXPECT_GT(options.memory_limit_bytes, 0);
      ++refused;
    }
    if (HasFailure()) FAIL() << "trial " << trial;
  }
  EXPECT_GT(placed, 150);
  EXPECT_GT(refused, 10);
}

TEST(TablePlacement, TellsPeopleAndProgramsWhatIsWhere) {
  const std::vector<TableSpec> tables = tables_of({8, 100000, 200}, 32);
  PlacementOptions options;
  options.ranks = 2;
  options.replicate_up_to_rows = 8;
  const TablePlacement placement = place_tables(tables, options);
  const nlohmann::json json = to_json(placement, tables);
  EXPECT_EQ(json["replicated"], nlohmann::json::array({"t0"}));
  EXPECT_EQ(json["replicated_bytes"], 8 * 32 * 4);
  std::int64_t columns = 0;
  for (const auto& rank : json["ranks"]) {
    for (const auto& shard : rank["shards"]) columns += shard["columns"].get<std::int64_t>();
  }
  EXPECT_EQ(columns, 64);
  const std::string text = describe(placement, tables);
  EXPECT_THAT(text, HasSubstr("t1[0:16]"));
  EXPECT_THAT(text, HasSubstr("on every rank: t0"));
  EXPECT_THAT(text, HasSubstr("largest over mean"));
}

}  // namespace
}  // namespace parallel

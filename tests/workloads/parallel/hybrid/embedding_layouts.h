// Distributions of tables and samples over ranks, and a common fixture for tests of exchanges.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "telemetry_account.h"
#include "workloads/parallel/hybrid/counted_mpi.h"
#include "workloads/parallel/hybrid/embedding_exchange.h"
#include "workloads/parallel/statistics_exchange.h"

namespace parallel {

struct Layout {
  std::vector<TableSpec> tables;
  TablePlacement placement;
  std::vector<nn::PassSlice> slices;
  std::string name;
  std::int64_t first_of(int table) const {
    std::int64_t first = 0;
    for (int i = 0; i < table; ++i) first += tables[static_cast<std::size_t>(i)].width;
    return first;
  }
  std::int64_t width() const { return first_of(static_cast<int>(tables.size())); }
  bool is_replicated(int table) const {
    return std::ranges::count(placement.replicated, table) > 0;
  }
  std::int64_t owned_columns(int rank) const {
    std::int64_t columns = 0;
    for (const TableShard& shard : placement.shards) {
      if (shard.rank == rank) columns += shard.columns;
    }
    return columns;
  }
};

inline std::vector<nn::PassSlice> slices_of(const std::vector<std::int64_t>& counts) {
  std::vector<nn::PassSlice> slices;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    slices.push_back({0, first, count});
    first += count;
  }
  for (nn::PassSlice& slice : slices) slice.total = first;
  return slices;
}

inline std::vector<TableSpec> many_tables() {
  return {{"a", 900, 16}, {"b", 5, 32},   {"c", 7000, 48}, {"d", 40, 8},  {"e", 3000, 64},
          {"f", 800, 16}, {"g", 200, 24}, {"h", 2000, 16}, {"i", 30, 40}, {"j", 600, 16}};
}

/// All distinct kinds of distributions of tables and samples over ranks.
inline std::vector<Layout> layouts(int ranks) {
  PlacementOptions options;
  options.ranks = ranks;
  options.column_alignment = 8;
  const auto planned = [&](const std::vector<TableSpec>& tables) {
    return place_tables(tables, options);
  };
  std::vector<std::int64_t> growing, but_first;
  for (int r = 0; r < ranks; ++r) {
    growing.push_back(1 + 2 * r);
    but_first.push_back(r == 0 && ranks > 1 ? 0 : 3);
  }
  const std::vector<TableSpec> many = many_tables();
  const std::vector<TableSpec> two = {{"wide", 500, 72}, {"wider", 400, 128}};
  std::vector<Layout> all;
  all.push_back({many, planned(many), slice_pass(5 * ranks + 1, ranks), "even"});
  all.push_back({many, planned(many), slices_of(growing), "growing"});
  all.push_back({two, planned(two), slices_of(but_first), "cut tables, a rank without samples"});
  options.replicate_up_to_rows = 40;
  all.push_back({many, planned(many), slices_of(growing), "replicated tables"});
  TablePlacement last_has_all;
  for (int table = 0; table < 2; ++table) {
    last_has_all.shards.push_back(
        {table, 0, two[static_cast<std::size_t>(table)].width, ranks - 1});
  }
  all.push_back({two, last_has_all, slices_of(growing), "one owner"});
  return all;
}

class ExchangeTest : public testing::Test {
 protected:
  ExchangeTest() : telemetry_(clock_), accounting_(world_.account_to(telemetry_)) {}
  ~ExchangeTest() override {
    telemetry::expect_whole_entry(telemetry::rank_entry({0, "here", 0, 1}, telemetry_));
  }
  std::int64_t counted() const { return telemetry_.count(telemetry::Counter::kBytesSent); }
  const nn::PassSlice& slice(const Layout& layout) const {
    return layout.slices[static_cast<std::size_t>(world_.rank())];
  }
  EmbeddingExchangeOptions options(AlltoallVariant variant, nn::Precision values,
                                   nn::Precision payload) const {
    return {variant, values, payload, base::usable_instruction_set()};
  }
  EmbeddingExchange make(const Layout& layout, const EmbeddingExchangeOptions& options) {
    return {world_, telemetry_, layout.tables, layout.placement, layout.slices, options};
  }

  runner::Communicator world_ = runner::Communicator::world();
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  runner::Accounting accounting_;
};

}  // namespace parallel

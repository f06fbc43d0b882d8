// A table placement as JSON and as text.
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "workloads/parallel/hybrid/table_placement.h"

namespace parallel {
namespace {

const std::string& name_of(int table, std::span<const TableSpec> tables) {
  return tables[static_cast<std::size_t>(table)].name;
}

nlohmann::json shards_of(int rank, const TablePlacement& placement,
                         std::span<const TableSpec> tables) {
  nlohmann::json shards = nlohmann::json::array();
  for (const TableShard& shard : placement.shards) {
    if (shard.rank != rank) continue;
    shards.push_back({{"table", name_of(shard.table, tables)},
                      {"first_column", shard.first_column},
                      {"columns", shard.columns}});
  }
  return shards;
}

/// "a b[0:64]": whole tables by name, split ones with their columns.
std::string names_of_shards(int rank, const TablePlacement& placement,
                            std::span<const TableSpec> tables) {
  std::string names;
  for (const TableShard& shard : placement.shards) {
    if (shard.rank != rank) continue;
    names += (names.empty() ? "" : " ") + name_of(shard.table, tables);
    if (shard.columns == tables[static_cast<std::size_t>(shard.table)].width) continue;
    names += fmt::format("[{}:{}]", shard.first_column, shard.first_column + shard.columns);
  }
  return names;
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

nlohmann::json to_json(const TablePlacement& placement, std::span<const TableSpec> tables) {
  nlohmann::json ranks = nlohmann::json::array(), replicated = nlohmann::json::array();
  for (std::size_t rank = 0; rank < placement.ranks.size(); ++rank) {
    ranks.push_back({{"rank", rank},
                     {"bytes", placement.ranks[rank].bytes},
                     {"elements_read", placement.ranks[rank].elements_read},
                     {"shards", shards_of(static_cast<int>(rank), placement, tables)}});
  }
  for (const int table : placement.replicated) replicated.push_back(name_of(table, tables));
  return {{"ranks", std::move(ranks)},
          {"replicated", std::move(replicated)},
          {"replicated_bytes", placement.replicated_bytes},
          {"byte_balance", placement.byte_balance},
          {"read_balance", placement.read_balance},
          {"balance", placement.balance}};
}

std::string describe(const TablePlacement& placement, std::span<const TableSpec> tables) {
  std::string text = fmt::format("{:>6} {:>12} {:>16}  tables\n", "rank", "MiB", "elements/sample");
  for (std::size_t rank = 0; rank < placement.ranks.size(); ++rank) {
    const RankTables& has = placement.ranks[rank];
    fmt::format_to(std::back_inserter(text), "{:>6} {:>12.1f} {:>16.1f}  {}\n", rank,
                   mib(has.bytes), has.elements_read,
                   names_of_shards(static_cast<int>(rank), placement, tables));
  }
  if (!placement.replicated.empty()) {
    text += "on every rank:";
    for (const int table : placement.replicated) text += " " + name_of(table, tables);
    fmt::format_to(std::back_inserter(text), " ({:.1f} MiB)\n", mib(placement.replicated_bytes));
  }
  fmt::format_to(std::back_inserter(text), "largest over mean: {:.3f} of bytes, {:.3f} of reads\n",
                 placement.byte_balance, placement.read_balance);
  return text;
}

}  // namespace parallel

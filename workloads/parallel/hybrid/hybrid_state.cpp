// State of distributed embedding tables: arrays of a checkpoint, and gathered whole tables.
// A table that is split over ranks is stored transposed, so that each rank has rows of the array.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "runner/base/error.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace parallel {
namespace {

using base::ElementType;
using base::StateArray;
using nn::EmbeddingTable;

/// Name of the array [tables] with 1 for each table that is stored transposed, else 0.
constexpr char kByColumns[] = "resume/tables/by_columns";
/// Elements that are copied at a time.
constexpr std::int64_t kPieceFloats = std::int64_t{16} << 20;

/// This rank's columns of a table's weights, or of its optimizer state.
struct ArrayPart {
  std::string name;                                ///< of the array
  std::int64_t columns = 0;                        ///< 0: this rank has none
  std::int64_t table_width = 0, first_column = 0;  ///< of the whole table; place of the columns
  std::function<void(std::int64_t, std::span<float>)> read;
  std::function<void(std::int64_t, std::span<const float>)> write;
};

std::string array_name(const std::string& kind, const std::string& table) {
  return fmt::format("{}tables/{}/{}", base::kResumeGroup, kind, table);
}

ArrayPart weights_of(EmbeddingTable& table) {
  return {
      table.options().name,
      table.columns(),
      table.options().table_width,
      table.options().first_column,
      [&table](std::int64_t first, std::span<float> out) { table.read_rows(first, out); },
      [&table](std::int64_t first, std::span<const float> rows) { table.write_rows(first, rows); }};
}

/// The optimizer state of a table, which has one element per weight or one per row.
ArrayPart state_of(EmbeddingTable& table) {
  const bool by_row = nn::state_of(table.options().rule).per_row > 0;
  return {array_name("state", table.options().name),
          table.state_columns(),
          by_row ? 1 : table.options().table_width,
          by_row ? 0 : table.options().first_column,
          [&table](std::int64_t first, std::span<float> out) { table.read_state_rows(first, out); },
          [&table](std::int64_t first, std::span<const float> rows) {
            table.write_state_rows(first, rows);
          }};
}

/// Calls body(first row, number of rows) for consecutive pieces of about kPieceFloats elements.
template <class Body>
void for_each_piece(std::int64_t rows, std::int64_t width, const Body& body) {
  const std::int64_t piece =
      std::max<std::int64_t>(1, kPieceFloats / std::max<std::int64_t>(width, 1));
  for (std::int64_t first = 0; first < rows; first += piece) {
    body(first, std::min(piece, rows - first));
  }
}

std::span<float> as_floats(std::vector<std::byte>& bytes, std::int64_t count) {
  bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  return {reinterpret_cast<float*>(bytes.data()), static_cast<std::size_t>(count)};
}

/// The array of a table that is whole on one rank or on every rank.
StateArray whole_array(const ArrayPart& part, std::int64_t rows, bool is_mine,
                       base::Holding holding) {
  const auto bytes = [part, rows, is_mine](std::vector<std::byte>& scratch) {
    if (is_mine) part.read(0, as_floats(scratch, rows * part.columns));
    return std::span<const std::byte>(scratch);
  };
  return {
      part.name, ElementType::kFloat32, {rows, part.table_width}, holding, 0, is_mine ? rows : 0,
      bytes};
}

/// The transposed array of a table that is split by columns over ranks.
StateArray cut_array(const ArrayPart& part, std::int64_t rows) {
  const auto bytes = [part, rows](std::vector<std::byte>& scratch) {
    const std::span<float> turned = as_floats(scratch, rows * part.columns);
    std::vector<float> piece;
    for_each_piece(rows, part.columns, [&](std::int64_t first, std::int64_t count) {
      piece.resize(static_cast<std::size_t>(count * part.columns));
      part.read(first, piece);
      for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t c = 0; c < part.columns; ++c) {
          turned[static_cast<std::size_t>(c * rows + first + row)] =
              piece[static_cast<std::size_t>(row * part.columns + c)];
        }
      }
    });
    return std::span<const std::byte>(scratch);
  };
  return {array_name("columns", part.name),
          ElementType::kFloat32,
          {part.table_width, rows},
          base::Holding::kRowsOfRanks,
          part.first_column,
          part.columns,
          bytes};
}

/// Checks the shape of a table's array. All ranks call this for all tables, though only the ranks
/// that have a table read its rows, so that all ranks throw.
void require_table(const base::StateSource& source, const TableSpec& spec, bool by_columns) {
  std::vector<std::int64_t> expected = {spec.rows, spec.width};
  if (by_columns) std::swap(expected[0], expected[1]);
  const std::string name = by_columns ? array_name("columns", spec.name) : spec.name;
  const std::vector<std::int64_t> found = source.shape(name);
  if (found == expected) return;
  throw base::DataError(fmt::format("{}: is of shape [{}], expected [{}]", name,
                                    fmt::join(found, ", "), fmt::join(expected, ", ")));
}

/// Restores this rank's columns from an array of whole rows.
void restore_whole(const base::StateSource& source, const ArrayPart& part, std::int64_t rows) {
  std::vector<float> whole, piece;
  for_each_piece(rows, part.table_width, [&](std::int64_t first, std::int64_t count) {
    whole.resize(static_cast<std::size_t>(count * part.table_width));
    source.read_rows(part.name, ElementType::kFloat32, first,
                     std::as_writable_bytes(std::span<float>(whole)));
    piece.resize(static_cast<std::size_t>(count * part.columns));
    for (std::int64_t row = 0; row < count; ++row) {
      std::copy_n(whole.begin() + row * part.table_width + part.first_column, part.columns,
                  piece.begin() + row * part.columns);
    }
    part.write(first, piece);
  });
}

void restore_cut(const base::StateSource& source, const ArrayPart& part, std::int64_t rows) {
  std::vector<float> turned(static_cast<std::size_t>(rows * part.columns)), piece;
  source.read_rows(array_name("columns", part.name), ElementType::kFloat32, part.first_column,
                   std::as_writable_bytes(std::span<float>(turned)));
  for_each_piece(rows, part.columns, [&](std::int64_t first, std::int64_t count) {
    piece.resize(static_cast<std::size_t>(count * part.columns));
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t c = 0; c < part.columns; ++c) {
        piece[static_cast<std::size_t>(row * part.columns + c)] =
            turned[static_cast<std::size_t>(c * rows + first + row)];
      }
    }
    part.write(first, piece);
  });
}

/// The ArrayPart of a rank that has no columns of the table.
ArrayPart nothing_of(const std::string& name, std::int64_t width) {
  return {name,
          0,
          width,
          0,
          [](std::int64_t, std::span<float>) {},
          [](std::int64_t, std::span<const float>) {}};
}

}  // namespace

std::vector<TableShard> HybridParallel::shards_of_table(std::size_t table) const {
  std::vector<TableShard> shards;
  for (const TableShard& shard : placement_.shards) {
    if (shard.table == static_cast<int>(table)) shards.push_back(shard);
  }
  return shards;
}

bool HybridParallel::is_replicated(std::size_t table) const {
  const auto& all = placement_.replicated;
  return std::find(all.begin(), all.end(), static_cast<int>(table)) != all.end();
}

const nn::EmbeddingTable* HybridParallel::part_of(std::size_t table) const {
  const std::string& name = config_.tables.at(table).name;
  for (const nn::EmbeddingTables* tables : {&tables_, &replicated_}) {
    for (std::size_t i = 0; i < tables->size(); ++i) {
      if ((*tables)[i].options().name == name) return &(*tables)[i];
    }
  }
  return nullptr;
}

nn::EmbeddingTable* HybridParallel::part_of(std::size_t table) {
  return const_cast<nn::EmbeddingTable*>(std::as_const(*this).part_of(table));
}

bool HybridParallel::has_part_of(std::size_t table) const { return part_of(table) != nullptr; }

std::vector<base::StateArray> HybridParallel::state(nn::Optimizer& optimizer) {
  std::vector<StateArray> arrays = dense_.state(optimizer);
  std::vector<std::int64_t> by_columns;
  for (std::size_t i = 0; i < config_.tables.size(); ++i) {
    const TableSpec& spec = config_.tables[i];
    EmbeddingTable* const mine = part_of(i);
    std::vector<ArrayPart> parts = {mine != nullptr ? weights_of(*mine)
                                                    : nothing_of(spec.name, spec.width)};
    if (const std::int64_t width = nn::state_of(config_.rule).of_row(spec.width); width > 0) {
      parts.push_back(mine != nullptr ? state_of(*mine)
                                      : nothing_of(array_name("state", spec.name), width));
    }
    const bool is_cut = shards_of_table(i).size() > 1;
    by_columns.push_back(is_cut ? 1 : 0);
    const base::Holding holding =
        is_replicated(i) ? base::Holding::kEveryRank : base::Holding::kRowsOfRanks;
    for (const ArrayPart& part : parts) {
      arrays.push_back(is_cut ? cut_array(part, spec.rows)
                              : whole_array(part, spec.rows, mine != nullptr, holding));
    }
  }
  arrays.push_back(base::replicated<std::int64_t>(kByColumns,
                                                  {static_cast<std::int64_t>(by_columns.size())},
                                                  [by_columns] { return by_columns; }));
  return arrays;
}

std::int64_t HybridParallel::writing_bytes(const EmbeddingConfig& config,
                                           const std::vector<nn::TableOptions>& shards, int rank) {
  std::int64_t most = 0;
  for (const nn::TableOptions& shard : shards) most = std::max(most, shard.rows * shard.columns);
  for (std::size_t i = 0; i < config.tables.size() && rank == 0; ++i) {
    const std::int64_t whole = config.tables[i].rows * config.tables[i].width;
    most = std::max(most, whole + 2 * std::min(whole, kPieceFloats));  // own piece and gathered one
  }
  return most * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t HybridParallel::state_bytes(const EmbeddingConfig& config) {
  std::vector<nn::TableOptions> whole;
  for (const TableSpec& spec : config.tables) {
    whole.emplace_back();
    whole.back().rows = spec.rows;
    whole.back().columns = spec.width;
  }
  const auto flags = static_cast<std::int64_t>(config.tables.size() * sizeof(std::int64_t));
  return table_bytes(config, whole) + flags;
}

void HybridParallel::restore(const base::StateSource& source, nn::Optimizer& optimizer) {
  dense_.restore(source, optimizer);
  const auto by_columns = base::read_array<std::int64_t>(
      source, kByColumns, {static_cast<std::int64_t>(config_.tables.size())});
  for (std::size_t i = 0; i < config_.tables.size(); ++i) {
    require_table(source, config_.tables[i], by_columns[i] != 0);
  }
  for (std::size_t i = 0; i < config_.tables.size(); ++i) {
    EmbeddingTable* const mine = part_of(i);
    if (mine == nullptr) continue;
    std::vector<ArrayPart> parts = {weights_of(*mine)};
    if (mine->state_columns() > 0) parts.push_back(state_of(*mine));
    for (const ArrayPart& part : parts) {
      if (by_columns[i] != 0) {
        restore_cut(source, part, mine->rows());
      } else {
        restore_whole(source, part, mine->rows());
      }
    }
  }
}

std::vector<float> HybridParallel::read_table(std::size_t table) const {
  const TableSpec& spec = config_.tables.at(table);
  const nn::EmbeddingTable* const mine = part_of(table);
  const bool sends = mine != nullptr && (!is_replicated(table) || world_.rank() == 0);
  std::vector<float> whole, piece;
  if (world_.rank() == 0) whole.resize(static_cast<std::size_t>(spec.rows * spec.width));
  std::vector<TableShard> shards = shards_of_table(table);
  if (shards.empty()) shards.push_back({static_cast<int>(table), 0, spec.width, 0});
  for_each_piece(spec.rows, spec.width, [&](std::int64_t first, std::int64_t count) {
    piece.resize(sends ? static_cast<std::size_t>(count * mine->columns()) : 0);
    if (sends) mine->read_rows(first, piece);
    const std::vector<float> all = world_.gather(std::span<const float>(piece), 0);
    if (world_.rank() != 0) return;
    const float* from = all.data();
    for (const TableShard& shard : shards) {  // in rank order
      for (std::int64_t row = 0; row < count; ++row, from += shard.columns) {
        std::copy_n(from, shard.columns,
                    whole.begin() + (first + row) * spec.width + shard.first_column);
      }
    }
  });
  return whole;
}

void HybridParallel::write_table(std::size_t table, std::span<const float> rows) {
  nn::EmbeddingTable* const mine = part_of(table);
  if (mine == nullptr) return;
  const TableSpec& spec = config_.tables.at(table);
  if (static_cast<std::int64_t>(rows.size()) != spec.rows * spec.width) {
    throw base::ShapeError(fmt::format("{}: expected {} values, got {}", spec.name,
                                       spec.rows * spec.width, rows.size()));
  }
  std::vector<float> piece;
  for_each_piece(spec.rows, mine->columns(), [&](std::int64_t first, std::int64_t count) {
    piece.resize(static_cast<std::size_t>(count * mine->columns()));
    for (std::int64_t row = 0; row < count; ++row) {
      std::copy_n(rows.data() + (first + row) * spec.width + mine->options().first_column,
                  mine->columns(), piece.begin() + row * mine->columns());
    }
    mine->write_rows(first, piece);
  });
}

void HybridParallel::load_table(std::size_t table, const runner::StateReader& reader) {
  if (!has_part_of(table)) return;
  const TableSpec& spec = config_.tables.at(table);
  const std::string by_columns = array_name("columns", spec.name);
  if (reader.has(spec.name) || !reader.has(by_columns)) {
    write_table(table, reader.read(spec.name, {spec.rows, spec.width}));
    return;
  }
  const std::vector<float> turned = reader.read(by_columns, {spec.width, spec.rows});
  std::vector<float> rows(turned.size());
  for (std::int64_t row = 0; row < spec.rows; ++row) {
    for (std::int64_t c = 0; c < spec.width; ++c) {
      rows[static_cast<std::size_t>(row * spec.width + c)] =
          turned[static_cast<std::size_t>(c * spec.rows + row)];
    }
  }
  write_table(table, rows);
}

}  // namespace parallel

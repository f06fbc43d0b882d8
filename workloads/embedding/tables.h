// The embedding tables of one owner, side by side: each bag of each table fills its columns of a
// row. Hides the common parallel regions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/embedding/table.h"

namespace nn {

/// Tables, or shards, in order. Table t has the columns [column_offset(t), column_offset(t) +
/// columns) of rows of width() and its bags in element t of what calls are given; all have the same
/// number of bags. Calls throw ShapeError when they have not. T is float or Bf16.
class EmbeddingTables {
 public:
  /// Throws as EmbeddingTable does.
  explicit EmbeddingTables(const std::vector<TableOptions>& options);

  std::size_t size() const { return tables_.size(); }
  EmbeddingTable& operator[](std::size_t table) { return tables_[table]; }
  const EmbeddingTable& operator[](std::size_t table) const { return tables_[table]; }
  std::int64_t width() const { return column_offsets_.back(); }
  std::int64_t column_offset(std::size_t table) const { return column_offsets_[table]; }
  std::int64_t memory_bytes() const;

  void initialize(std::uint64_t seed);
  /// Throws what the first table's check throws whose bags are not right.
  void check(std::span<const Bags> bags) const;
  /// Row n of out, from n * stride on, [width()]: the sums of bag n of every table.
  template <class T>
  void forward(std::span<const Bags> bags, T* out, std::int64_t stride) const;
  /// As EmbeddingTable::update, of every table; row n of the gradient [width()] at n * stride.
  template <class T>
  void update(std::span<const Bags> bags, const T* gradient, std::int64_t stride,
              double learning_rate);
  /// Sum of the tables' hashes: the same however they are shared out over owners.
  std::uint64_t hash() const;

 private:
  void check_shapes(std::span<const Bags> bags) const;

  std::vector<EmbeddingTable> tables_;
  std::vector<std::int64_t> column_offsets_;  ///< and the width behind them
  std::vector<UpdateScratch> scratch_;
};

}  // namespace nn

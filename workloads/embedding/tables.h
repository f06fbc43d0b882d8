// The embedding tables of one owner. Each bag of each table fills its columns of an output row.
// Tables are processed in common parallel regions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/embedding/table.h"

namespace nn {

/// Tables, or shards, in order. Table t has columns [column_offset(t), column_offset(t) + columns)
/// of rows of width() elements, and its bags are element t of the `bags` of a call. All have the
/// same number of bags; calls throw ShapeError otherwise. T is float or Bf16.
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
  /// Throws the DataError of the first table whose bags are invalid.
  void check(std::span<const Bags> bags) const;
  /// Row n of out [width()], at n * stride: the sums of bag n of every table.
  template <class T>
  void forward(std::span<const Bags> bags, T* out, std::int64_t stride) const;
  /// As EmbeddingTable::update, for every table. Row n of the gradient [width()] is at n * stride.
  template <class T>
  void update(std::span<const Bags> bags, const T* gradient, std::int64_t stride,
              double learning_rate);
  /// Sum of the tables' hashes, which is independent of how tables are divided among owners.
  std::uint64_t hash() const;
  /// Whether no weight is infinite or NaN.
  bool is_finite() const;

 private:
  void check_shapes(std::span<const Bags> bags) const;

  std::vector<EmbeddingTable> tables_;
  std::vector<std::int64_t> column_offsets_;  ///< by table, then the total width
  std::vector<UpdateScratch> scratch_;
};

}  // namespace nn

// Calls on several tables, as lists of jobs.
#include "workloads/embedding/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/embedding/work.h"

namespace nn {

EmbeddingTables::EmbeddingTables(const std::vector<TableOptions>& options) : column_offsets_{0} {
  tables_.reserve(options.size());
  for (const TableOptions& table : options) {
    tables_.emplace_back(table);
    column_offsets_.push_back(column_offsets_.back() + table.columns);
  }
}

std::int64_t EmbeddingTables::memory_bytes() const {
  std::int64_t bytes = 0;
  for (const EmbeddingTable& table : tables_) bytes += table.memory_bytes();
  return bytes;
}

void EmbeddingTables::initialize(std::uint64_t seed) {
  for (EmbeddingTable& table : tables_) table.initialize(seed);
}

std::uint64_t EmbeddingTables::hash() const {
  std::uint64_t sum = 0;
  for (const EmbeddingTable& table : tables_) sum += table.hash();
  return sum;
}

bool EmbeddingTables::is_finite() const {
  return std::ranges::all_of(tables_, &EmbeddingTable::is_finite);
}

void EmbeddingTables::check_shapes(std::span<const Bags> bags) const {
  if (bags.size() != size()) {
    throw base::ShapeError(fmt::format(
        "embedding tables: {} tables need as many lists of bags, got {}", size(), bags.size()));
  }
  for (std::size_t t = 1; t < size(); ++t) {
    if (bags[t].count() != bags[0].count()) {
      throw base::ShapeError(fmt::format("table {}: expected {} bags as in table {}, got {}",
                                         tables_[t].options().name, bags[0].count(),
                                         tables_[0].options().name, bags[t].count()));
    }
  }
}

void EmbeddingTables::check(std::span<const Bags> bags) const {
  check_shapes(bags);
  std::vector<char> wrong(size(), 0);
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t t = 0; t < size(); ++t) {
    try {
      tables_[t].check(bags[t]);
    } catch (const base::DataError&) {
      wrong[t] = 1;
    }
  }
  for (std::size_t t = 0; t < size(); ++t) {
    if (wrong[t] != 0) tables_[t].check(bags[t]);
  }
}

template <class T>
void EmbeddingTables::forward(std::span<const Bags> bags, T* out, std::int64_t stride) const {
  check_shapes(bags);
  std::vector<ForwardJob<T>> jobs;
  for (std::size_t t = 0; t < size(); ++t) {
    jobs.push_back({&tables_[t], bags[t], out + column_offset(t), stride});
  }
  run(std::span<const ForwardJob<T>>(jobs));
}

template <class T>
void EmbeddingTables::update(std::span<const Bags> bags, const T* gradient, std::int64_t stride,
                             double learning_rate) {
  check_shapes(bags);
  std::vector<UpdateJob<T>> jobs;
  for (std::size_t t = 0; t < size(); ++t) {
    jobs.push_back({&tables_[t], bags[t], gradient + column_offset(t), stride});
  }
  run(std::span<const UpdateJob<T>>(jobs), learning_rate, scratch_);
}

template void EmbeddingTables::forward(std::span<const Bags>, float*, std::int64_t) const;
template void EmbeddingTables::forward(std::span<const Bags>, Bf16*, std::int64_t) const;
template void EmbeddingTables::update(std::span<const Bags>, const float*, std::int64_t, double);
template void EmbeddingTables::update(std::span<const Bags>, const Bf16*, std::int64_t, double);

}  // namespace nn

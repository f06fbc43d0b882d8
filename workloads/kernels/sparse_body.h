// Source of the kernels on embedding tables. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"
#include "workloads/kernels/sparse_rows_body.h"
#include "workloads/kernels/sparse_scan_body.h"

namespace nn {
namespace {

/// to [columns] = sum of row_of(i) for i in [first, last), in order. Calls ahead(i, chunk, first
/// column) for each chunk of each row.
template <class T, class RowOf, class Ahead>
inline void sum_rows(std::int64_t first, std::int64_t last, const RowOf& row_of, const Ahead& ahead,
                     std::int64_t columns, T* to) {
  for_each_chunk(columns, [=](auto chunk, std::int64_t at, int width) {
    using Chunk = decltype(chunk);
    Lanes sums[Chunk::kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < Chunk::kVectors; ++v) sums[v] = zero();
    for (std::int64_t i = first; i < last; ++i) {
      ahead(i, chunk, at);
      const auto* row = row_of(i) + at;
#pragma GCC unroll 8
      for (int v = 0; v < Chunk::kVectors; ++v) {
        sums[v] += Chunk::Access::load(row + v * kLanes, width);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < Chunk::kVectors; ++v) {
      Chunk::Access::store(to + at + v * kLanes, sums[v], width);
    }
  });
}

template <class Weight, class T>
void forward_of(const Weight* weights, std::int64_t columns, const BagRange& bags, T* out,
                std::int64_t stride) {
  const std::int64_t bytes = columns * static_cast<std::int64_t>(sizeof(Weight));
  const std::int64_t distance = lookups_ahead(bytes);
  const std::int64_t end = bags.offsets[bags.last];
  const std::int32_t* ids = bags.ids;
  const auto row_of = [=](std::int64_t i) { return weights + ids[i] * columns; };
  const auto ahead = [=](std::int64_t i, auto chunk, std::int64_t at)
      __attribute__((always_inline)) {
    constexpr std::int64_t kBytes =
        decltype(chunk)::kVectors * kLanes * static_cast<std::int64_t>(sizeof(Weight));
    if (i + distance < end) prefetch_lines<kBytes>(row_of(i + distance) + at);
  };
  const std::int64_t begin = bags.offsets[bags.first];
  for (std::int64_t i = begin; i < end && i < begin + distance; ++i) fetch(row_of(i), bytes);
  const std::int64_t out_bytes = columns * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t bag = bags.first; bag < bags.last; ++bag) {
    if (bag + kBagsAhead < bags.last) fetch(out + (bag + kBagsAhead) * stride, out_bytes);
    sum_rows(bags.offsets[bag], bags.offsets[bag + 1], row_of, ahead, columns, out + bag * stride);
  }
}

template <class T>
void forward(const TableRows& rows, const BagRange& bags, T* out, std::int64_t stride) {
  if (rows.upper != nullptr) return forward_of(rows.upper, rows.columns, bags, out, stride);
  forward_of(rows.weights, rows.columns, bags, out, stride);
}

/// Prefetches the rows and gradients of later lookups, unless the lookup before has the same.
template <class Table, class T>
class LookupsAhead {
 public:
  LookupsAhead(const Table& table, const Lookup* lookups, std::int64_t count, const T* gradient,
               std::int64_t stride)
      : table_(table),
        lookups_(lookups),
        count_(count),
        gradient_(gradient),
        stride_(stride),
        bytes_(table.rows.columns * static_cast<std::int64_t>(sizeof(T))),
        distance_(lookups_ahead(table.rows.columns * static_cast<std::int64_t>(sizeof(float)))) {
    for (std::int64_t i = -distance_; i < 0; ++i) (*this)(i);
  }
  template <class Chunk>
  [[gnu::always_inline]] void operator()(std::int64_t i, Chunk /*chunk*/, std::int64_t at) const {
    if (at == 0) (*this)(i);
  }
  [[gnu::always_inline]] void operator()(std::int64_t i) const {
    const std::int64_t next = i + distance_;
    if (next >= count_) return;
    const Lookup lookup = lookups_[next];
    if (next == 0 || lookups_[next - 1].row != lookup.row) table_.prefetch_row(lookup.row);
    if (next == 0 || lookups_[next - 1].bag != lookup.bag) {
      fetch(gradient_ + lookup.bag * stride_, bytes_);
    }
  }

 private:
  const Table& table_;
  const Lookup* lookups_;
  std::int64_t count_;
  const T* gradient_;
  std::int64_t stride_, bytes_, distance_;
};

template <class T>
void step_one(const TableRows& rows, std::int32_t row, const T* gradient, float rate) {
  with_table(rows, [&](const auto& table) {
    step_row<SparseRule::kSgd>(table, row, gradient, {SparseRule::kSgd, rate, 0.0F});
  });
}

template <class Table, class T>
void step_each_of(const Table& table, const Lookup* lookups, std::int64_t count, const T* gradient,
                  std::int64_t stride, float rate) {
  const SparseStep step = {SparseRule::kSgd, rate, 0.0F};
  const LookupsAhead<Table, T> ahead(table, lookups, count, gradient, stride);
  for (std::int64_t i = 0; i < count; ++i) {
    ahead(i);
    step_row<SparseRule::kSgd>(table, lookups[i].row, gradient + lookups[i].bag * stride, step);
  }
}

template <class T>
void step_each(const TableRows& rows, const Lookup* lookups, std::int64_t count, const T* gradient,
               std::int64_t stride, float rate) {
  with_table(rows, [&](const auto& table) {
    step_each_of(table, lookups, count, gradient, stride, rate);
  });
}

template <SparseRule kRule, class Table, class T>
void step_groups_of(const Table& table, const Lookup* lookups, std::int64_t count,
                    const T* gradient, std::int64_t stride, const SparseStep& step, float* sum) {
  const LookupsAhead<Table, T> ahead(table, lookups, count, gradient, stride);
  const auto row_of = [=](std::int64_t i) { return gradient + lookups[i].bag * stride; };
  for (std::int64_t first = 0; first < count;) {
    const std::int32_t row = lookups[first].row;
    std::int64_t last = first + 1;
    while (last < count && lookups[last].row == row) ++last;
    if (last == first + 1) {
      ahead(first);
      step_row<kRule>(table, row, row_of(first), step);
    } else {
      sum_rows(first, last, row_of, ahead, table.rows.columns, sum);
      step_row<kRule>(table, row, sum, step);
    }
    first = last;
  }
}

template <class T>
void step_groups(const TableRows& rows, const Lookup* lookups, std::int64_t count,
                 const T* gradient, std::int64_t stride, const SparseStep& step, float* sum) {
  with_table(rows, [&](const auto& table) {
    switch (step.rule) {
      case SparseRule::kSgd:
        return step_groups_of<SparseRule::kSgd>(table, lookups, count, gradient, stride, step, sum);
      case SparseRule::kAdagrad:
        return step_groups_of<SparseRule::kAdagrad>(table, lookups, count, gradient, stride, step,
                                                    sum);
      case SparseRule::kRowwiseAdagrad:
        return step_groups_of<SparseRule::kRowwiseAdagrad>(table, lookups, count, gradient, stride,
                                                           step, sum);
    }
  });
}

inline float plain(float value) { return value; }
inline float plain(Bf16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float number;
  __builtin_memcpy(&number, &bits, sizeof number);
  return number;
}

inline void step_element(const TableRows& rows, std::int64_t at, float gradient, float rate) {
  if (rows.upper == nullptr) {
    rows.weights[at] = rows.weights[at] - rate * gradient;
    return;
  }
  std::uint32_t bits = std::uint32_t{rows.upper[at].bits} << 16 | rows.lower[at].bits;
  float weight;
  __builtin_memcpy(&weight, &bits, sizeof weight);
  weight = weight - rate * gradient;
  __builtin_memcpy(&bits, &weight, sizeof bits);
  rows.upper[at].bits = static_cast<std::uint16_t>(bits >> 16);
  rows.lower[at].bits = static_cast<std::uint16_t>(bits);
}

template <class T>
void step_plain(const TableRows& rows, const BagRange& bags, const T* gradient, std::int64_t stride,
                float rate) {
  for (std::int64_t bag = bags.first; bag < bags.last; ++bag) {
    for (std::int64_t i = bags.offsets[bag]; i < bags.offsets[bag + 1]; ++i) {
      const std::int64_t row = bags.ids[i] * rows.columns;
      for (std::int64_t c = 0; c < rows.columns; ++c) {
        step_element(rows, row + c, plain(gradient[bag * stride + c]), rate);
      }
    }
  }
}

template <class T>
constexpr BagKernels<T> kBags = {forward<T>, step_one<T>, step_each<T>, step_groups<T>,
                                 step_plain<T>};

constexpr SparseKernels kSparse = {kBags<float>, kBags<Bf16>, select, first_outside, uniform_row};

}  // namespace
}  // namespace nn

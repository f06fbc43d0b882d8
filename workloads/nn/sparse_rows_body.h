// Rows of embedding tables, whole or in halves, and steps of them. Hides how halves are joined and
// split. As kernels_body.h, whose part it is: compiled once per instruction set, internal linkage,
// nothing of the standard library.
#pragma once

#include "workloads/nn/fetch.h"
#include "workloads/nn/kernels_lanes.h"

namespace nn {
namespace {

/// Neighbouring vectors of a row that are held in registers together: what the instruction set has
/// room for.
#if defined(__AVX512F__)
constexpr int kMostVectors = 8;
#elif defined(__AVX2__)
constexpr int kMostVectors = 4;
#else
constexpr int kMostVectors = 2;
#endif

/// The same where a step holds weights and gradients.
constexpr int kStepVectors = kMostVectors > 2 ? kMostVectors / 2 : 1;

template <class A, int V>
struct ChunkOf {
  using Access = A;
  static constexpr int kVectors = V;
};

template <int V, class Use>
inline void for_chunks_below(std::int64_t columns, std::int64_t at, const Use& use) {
  if constexpr (V == 0) {
    if (at < columns) use(ChunkOf<Partial, 1>(), at, static_cast<int>(columns - at));
  } else {
    for (; at + V * kLanes <= columns; at += V * kLanes) use(ChunkOf<Full, V>(), at, kLanes);
    for_chunks_below<V / 2>(columns, at, use);
  }
}

/// Calls use(ChunkOf, first column, width of a vector) for all columns.
template <class Use>
inline void for_each_chunk(std::int64_t columns, const Use& use) {
  for_chunks_below<kMostVectors>(columns, 0, use);
}

/// Bytes of rows that are on their way from memory at a time.
constexpr std::int64_t kBytesAhead = 16384;
constexpr std::int64_t kMostLookupsAhead = 64;

/// Bags ahead of the one at work whose place of output is fetched.
constexpr std::int64_t kBagsAhead = 4;

inline std::int64_t lookups_ahead(std::int64_t row_bytes) {
  const std::int64_t lookups = kBytesAhead / row_bytes + 1;
  return lookups < kMostLookupsAhead ? lookups : kMostLookupsAhead;
}

inline Lanes root_of(const Lanes& value) {
#if defined(__AVX512F__)
  // With a mask of all: GCC 12 warns of the undefined value that the plain form begins with.
  return reinterpret_cast<Lanes>(_mm512_maskz_sqrt_ps(0xFFFF, reinterpret_cast<__m512>(value)));
#else
  Lanes roots;
  for (int quarter = 0; quarter < 4; ++quarter) {
    __m128 four;
    __builtin_memcpy(&four, reinterpret_cast<const char*>(&value) + quarter * 16, sizeof four);
    four = _mm_sqrt_ps(four);
    __builtin_memcpy(reinterpret_cast<char*>(&roots) + quarter * 16, &four, sizeof four);
  }
  return roots;
#endif
}

inline void store_halves(Full /*access*/, Bf16* to, const Halves& halves, int /*width*/) {
  __builtin_memcpy(to, &halves, sizeof halves);
}
inline void store_halves(Partial /*access*/, Bf16* to, const Halves& halves, int width) {
  for (int lane = 0; lane < width; ++lane) to[lane].bits = halves[lane];
}

/// A row of floats.
struct WholeRow {
  template <class Access>
  Lanes load(std::int64_t at, int width) const {
    return Access::load(weights + at, width);
  }
  template <class Access>
  void store(std::int64_t at, const Lanes& value, int width) const {
    Access::store(weights + at, value, width);
  }
  float* weights;
};

/// A row of floats whose upper and lower halves lie apart.
struct SplitRow {
  template <class Access>
  Lanes load(std::int64_t at, int width) const {
    const Words high = reinterpret_cast<Words>(Access::load(upper + at, width));
    const Words low = reinterpret_cast<Words>(Access::load(lower + at, width));
    return reinterpret_cast<Lanes>(high | low >> 16);
  }
  template <class Access>
  void store(std::int64_t at, const Lanes& value, int width) const {
    const Words bits = reinterpret_cast<Words>(value);
    store_halves(Access(), upper + at, __builtin_convertvector(bits >> 16, Halves), width);
    store_halves(Access(), lower + at, __builtin_convertvector(bits, Halves), width);
  }
  Bf16* upper;
  Bf16* lower;
};

/// Rows of floats.
struct WholeTable {
  WholeRow row(std::int64_t row) const { return {rows.weights + row * rows.columns}; }
  [[gnu::always_inline]] void fetch_row(std::int64_t row) const {
    fetch(rows.weights + row * rows.columns,
          rows.columns * static_cast<std::int64_t>(sizeof(float)));
  }
  TableRows rows;
};

/// Rows of halves.
struct SplitTable {
  SplitRow row(std::int64_t row) const {
    return {rows.upper + row * rows.columns, rows.lower + row * rows.columns};
  }
  [[gnu::always_inline]] void fetch_row(std::int64_t row) const {
    const std::int64_t bytes = rows.columns * static_cast<std::int64_t>(sizeof(Bf16));
    fetch(rows.upper + row * rows.columns, bytes);
    fetch(rows.lower + row * rows.columns, bytes);
  }
  TableRows rows;
};

template <class Use>
inline void with_table(const TableRows& rows, const Use& use) {
  if (rows.upper != nullptr) return use(SplitTable{rows});
  use(WholeTable{rows});
}

/// The mean of g^2: sums of every 16th column in float, those in double.
template <class T>
inline float mean_square(const T* gradient, std::int64_t columns) {
  Lanes sums = zero();
  for_each_piece(columns, [&](auto access, std::int64_t at, int width) {
    const Lanes g = access.load(gradient + at, width);
    sums += g * g;
  });
  double sum = 0.0;
  for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(sums[lane]);
  return static_cast<float>(sum / static_cast<double>(columns));
}

/// One step of a row, whose gradient is [columns]. Neighbouring vectors are all loaded before the
/// first is stored, as loads would wait to see where stores go.
template <SparseRule kRule, class Table, class T>
inline void step_row(const Table& table, std::int64_t id, const T* gradient,
                     const SparseStep& step) {
  const std::int64_t columns = table.rows.columns;
  const auto row = table.row(id);
  const float rate = step.rate, epsilon = step.epsilon;
  float* state = table.rows.state;
  float divisor = 1.0F;
  if constexpr (kRule == SparseRule::kAdagrad) state += id * columns;
  if constexpr (kRule == SparseRule::kRowwiseAdagrad) {
    state += id;
    *state += mean_square(gradient, columns);
    divisor = __builtin_sqrtf(*state) + epsilon;
  }
  for_chunks_below<kStepVectors>(columns, 0, [=](auto chunk, std::int64_t first, int width) {
    using Access = typename decltype(chunk)::Access;
    constexpr int kVectors = decltype(chunk)::kVectors;
    Lanes w[kVectors], g[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      w[v] = row.template load<Access>(first + v * kLanes, width);
      g[v] = Access::load(gradient + first + v * kLanes, width);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kRule == SparseRule::kSgd) {
        w[v] = w[v] - rate * g[v];
      } else if constexpr (kRule == SparseRule::kAdagrad) {
        float* squares_of = state + first + v * kLanes;
        const Lanes squares = Access::load(squares_of, width) + g[v] * g[v];
        Access::store(squares_of, squares, width);
        w[v] = w[v] - rate * g[v] / (root_of(squares) + epsilon);
      } else {
        w[v] = w[v] - rate * g[v] / divisor;
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      row.template store<Access>(first + v * kLanes, w[v], width);
    }
  });
}

}  // namespace
}  // namespace nn

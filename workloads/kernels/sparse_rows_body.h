// Rows of embedding tables, of floats or of split halves, and optimizer steps on them. Follows the
// rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"
#include "workloads/kernels/prefetch.h"

namespace nn {
namespace {

/// Adjacent vectors of a row held in registers together, as many as the instruction set has room
/// for.
#if defined(__AVX512F__)
constexpr int kMostVectors = 8;
#elif defined(__AVX2__)
constexpr int kMostVectors = 4;
#else
constexpr int kMostVectors = 2;
#endif

/// The same for a step, which holds weights and gradients.
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

/// Calls use(chunk, first column, width of a vector) for all columns.
template <class Use>
inline void for_each_chunk(std::int64_t columns, const Use& use) {
  for_chunks_below<kMostVectors>(columns, 0, use);
}

/// Bytes of rows being prefetched at a time.
constexpr std::int64_t kBytesAhead = 16384;
constexpr std::int64_t kMostLookupsAhead = 64;

/// Distance, in bags, at which output rows are prefetched.
constexpr std::int64_t kBagsAhead = 4;

inline std::int64_t lookups_ahead(std::int64_t row_bytes) {
  const std::int64_t lookups = kBytesAhead / row_bytes + 1;
  return lookups < kMostLookupsAhead ? lookups : kMostLookupsAhead;
}

inline Lanes root_of(const Lanes& value) {
#if defined(__AVX512F__)
  // Masked with all lanes set: GCC 12 warns about the undefined value that the unmasked form starts
  // from.
  return reinterpret_cast<Lanes>(_mm512_maskz_sqrt_ps(0xFFFF, reinterpret_cast<__m512>(value)));
#elif defined(__SSE2__)
  Lanes roots;
  for (int quarter = 0; quarter < 4; ++quarter) {
    __m128 four;
    __builtin_memcpy(&four, reinterpret_cast<const char*>(&value) + quarter * 16, sizeof four);
    four = _mm_sqrt_ps(four);
    __builtin_memcpy(reinterpret_cast<char*>(&roots) + quarter * 16, &four, sizeof four);
  }
  return roots;
#else
  Lanes roots;
  for (int lane = 0; lane < kLanes; ++lane) roots[lane] = __builtin_sqrtf(value[lane]);
  return roots;
#endif
}

/// A row of floats.
struct WholeRow {
  /// Adjacent vectors from column `at` on.
  template <class Access, int kVectors>
  void load(std::int64_t at, int width, Lanes (&values)[kVectors]) const {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) values[v] = Access::load(weights + at + v * kLanes, width);
  }
  template <class Access, int kVectors>
  void store(std::int64_t at, int width, const Lanes (&values)[kVectors]) const {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Access::store(weights + at + v * kLanes, values[v], width);
  }
  float* weights;
};

/// Join a vector from halves, and split it.
template <class Access>
inline Lanes joined(const Bf16* upper, const Bf16* lower, int width) {
  const Words high = words_of(Access::halves(upper, width));
  const Words low = words_of(Access::halves(lower, width));
  return reinterpret_cast<Lanes>(high << 16 | low);
}
template <class Access>
inline void split(const Lanes& value, Bf16* upper, Bf16* lower, int width) {
  const Words bits = reinterpret_cast<Words>(value);
  Access::store(upper, halves_of(bits >> 16), width);
  Access::store(lower, halves_of(bits), width);
}

#if defined(__AVX512BW__)
using HalfPairs = std::uint16_t __attribute__((vector_size(64), aligned(2)));

/// Join two vectors from 32 upper and 32 lower halves, and split them: two instructions each way.
inline void join_pair(const Bf16* upper, const Bf16* lower, Lanes& first, Lanes& second) {
  HalfPairs high, low;
  __builtin_memcpy(&high, upper, sizeof high);
  __builtin_memcpy(&low, lower, sizeof low);
  first = reinterpret_cast<Lanes>(
      __builtin_shufflevector(low, high, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                              40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47));
  second = reinterpret_cast<Lanes>(
      __builtin_shufflevector(low, high, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23,
                              55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63));
}
inline void split_pair(const Lanes& first, const Lanes& second, Bf16* upper, Bf16* lower) {
  const HalfPairs a = reinterpret_cast<HalfPairs>(first), b = reinterpret_cast<HalfPairs>(second);
  const HalfPairs low =
      __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32,
                              34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62);
  const HalfPairs high =
      __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33,
                              35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
  __builtin_memcpy(upper, &high, sizeof high);
  __builtin_memcpy(lower, &low, sizeof low);
}
#else
inline void join_pair(const Bf16* upper, const Bf16* lower, Lanes& first, Lanes& second) {
  first = joined<Full>(upper, lower, kLanes);
  second = joined<Full>(upper + kLanes, lower + kLanes, kLanes);
}
inline void split_pair(const Lanes& first, const Lanes& second, Bf16* upper, Bf16* lower) {
  split<Full>(first, upper, lower, kLanes);
  split<Full>(second, upper + kLanes, lower + kLanes, kLanes);
}
#endif

/// A row of floats whose upper and lower halves are stored separately. With kVectors above 1, all
/// vectors are full.
struct SplitRow {
  template <class Access, int kVectors>
  void load(std::int64_t at, int width, Lanes (&values)[kVectors]) const {
    if constexpr (kVectors == 1) {
      values[0] = joined<Access>(upper + at, lower + at, width);
    } else {
      static_assert(kVectors % 2 == 0);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2, at += 2 * kLanes) {
        join_pair(upper + at, lower + at, values[v], values[v + 1]);
      }
    }
  }
  template <class Access, int kVectors>
  void store(std::int64_t at, int width, const Lanes (&values)[kVectors]) const {
    if constexpr (kVectors == 1) {
      split<Access>(values[0], upper + at, lower + at, width);
    } else {
      static_assert(kVectors % 2 == 0);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2, at += 2 * kLanes) {
        split_pair(values[v], values[v + 1], upper + at, lower + at);
      }
    }
  }
  Bf16* upper;
  Bf16* lower;
};

/// A table of floats.
struct WholeTable {
  WholeRow row(std::int64_t row) const { return {rows.weights + row * rows.columns}; }
  [[gnu::always_inline]] void prefetch_row(std::int64_t row) const {
    fetch(rows.weights + row * rows.columns,
          rows.columns * static_cast<std::int64_t>(sizeof(float)));
  }
  TableRows rows;
};

/// A table of split floats.
struct SplitTable {
  SplitRow row(std::int64_t row) const {
    return {rows.upper + row * rows.columns, rows.lower + row * rows.columns};
  }
  [[gnu::always_inline]] void prefetch_row(std::int64_t row) const {
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

/// The mean of g^2: one sum per lane in float, their total in double.
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

/// One step of a row with gradient [columns]. All vectors of a chunk are loaded before the first is
/// stored, as loads would wait for the addresses of earlier stores.
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
    row.template load<Access>(first, width, w);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
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
    row.template store<Access>(first, width, w);
  });
}

}  // namespace
}  // namespace nn

// Kernels on rows of embedding tables, one table of function pointers per instruction set.
// REQUIRES: ids are in [0, rows of their table).
#pragma once

#include <cstdint>
#include <type_traits>

namespace nn {

struct Bf16;

/// How the gradient g of a row changes its weights w, with learning rate r.
enum class SparseRule {
  kSgd,             ///< w -= r g
  kAdagrad,         ///< h += g^2, w -= r g / (sqrt(h) + epsilon)
  kRowwiseAdagrad,  ///< the same with one h per row, which grows by the mean of g^2
};

/// Row-major arrays [rows, columns] of a table or of a range of its columns. Weights are in
/// `weights`, or their upper and lower halves in `upper` and `lower`.
struct TableRows {
  float* weights = nullptr;
  Bf16* upper = nullptr;
  Bf16* lower = nullptr;
  float* state = nullptr;  ///< h: [rows, columns], [rows] or null, depending on the rule
  std::int64_t columns = 0;
};

/// Bags [first, last) of those described by ids and offsets.
struct BagRange {
  const std::int32_t* ids = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t first = 0, last = 0;
};

/// A row that a bag contains.
struct Lookup {
  std::int32_t row = 0;
  std::int32_t bag = 0;
};

/// The lookups of one part of an update: those with (row & mask) == part.
struct RowShare {
  std::uint32_t mask = 0;  ///< one less than a power of two; 0: all lookups
  std::uint32_t part = 0;
};

struct SparseStep {
  SparseRule rule = SparseRule::kSgd;
  float rate = 0.0F;
  float epsilon = 0.0F;
};

/// Kernels whose outputs, or gradients of outputs, are of type T; arithmetic is in float. Row n of
/// either starts at n * stride. With split weights, forward() reads only the upper halves; steps
/// update both.
template <class T>
struct BagKernels {
  /// Row n of out [columns] = sum over the lookups of bag n, in order.
  void (*forward)(const TableRows& rows, const BagRange& bags, T* out, std::int64_t stride);
  /// One step of SGD for one row.
  void (*step_one)(const TableRows& rows, std::int32_t row, const T* gradient, float rate);
  /// One step of SGD for each lookup, in order.
  void (*step_each)(const TableRows& rows, const Lookup* lookups, std::int64_t count,
                    const T* gradient, std::int64_t stride, float rate);
  /// One step for each run of lookups of the same row, with the sum of their gradients in order.
  /// `sum` [columns] is scratch.
  void (*step_groups)(const TableRows& rows, const Lookup* lookups, std::int64_t count,
                      const T* gradient, std::int64_t stride, const SparseStep& step, float* sum);
  /// As step_each, for all lookups of the bags, in plain loops.
  void (*step_plain)(const TableRows& rows, const BagRange& bags, const T* gradient,
                     std::int64_t stride, float rate);
};

struct SparseKernels {
  BagKernels<float> f32;
  BagKernels<Bf16> bf16;
  /// Stores to `to` the lookups of [first, last) that are in the share, in order, and returns their
  /// count. `bag` is not after the first lookup's bag; on return, it is not after the last one's.
  /// `to` has room for last - first lookups.
  std::int64_t (*select)(const std::int32_t* ids, const std::int64_t* offsets, std::int64_t first,
                         std::int64_t last, std::int64_t* bag, const RowShare& share, Lookup* to);
  /// Returns the first position of an id outside [0, rows), or count if there is none.
  std::int64_t (*first_outside)(const std::int32_t* ids, std::int64_t count, std::int32_t rows);
  /// Random numbers, uniform in (-bound, bound), for columns [first, first + count) of a row.
  /// Column c gets an odd number of 25 bits times bound / 2^24, from word c % 64 / 16 of the
  /// Philox4x32-10 block whose counter is (c / 64 * 16 + c % 16, row, 0, 0).
  void (*uniform_row)(std::uint64_t key, std::uint32_t row, std::int64_t first, std::int64_t count,
                      float bound, float* to);

  template <class T>
  const BagKernels<T>& on() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return bf16;
    }
  }
};

}  // namespace nn

// Own kernels on rows of embedding tables, one table of functions per instruction set.
// Hides vector code and prefetching. Callers see to it that ids are within their table.
#pragma once

#include <cstdint>
#include <type_traits>

namespace nn {

struct Bf16;

/// What a gradient g of a row does to its weights w, its step size being r.
enum class SparseRule {
  kSgd,             ///< w -= r g
  kAdagrad,         ///< h += g^2, w -= r g / (sqrt(h) + epsilon)
  kRowwiseAdagrad,  ///< the same with one h per row, which grows by the mean of g^2
};

/// Row-major arrays [rows, columns] of a table or of a range of its columns. Weights lie in
/// `weights`, or, their upper and lower halves apart, in `upper` and `lower`.
struct TableRows {
  float* weights = nullptr;
  Bf16* upper = nullptr;
  Bf16* lower = nullptr;
  float* state = nullptr;  ///< h: [rows, columns], [rows] or null, as the rule has it
  std::int64_t columns = 0;
};

/// The bags [first, last) of those that ids and offsets describe.
struct BagRange {
  const std::int32_t* ids = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t first = 0, last = 0;
};

/// A row that a bag has.
struct Lookup {
  std::int32_t row = 0;
  std::int32_t bag = 0;
};

/// Which lookups a part of an update is about: those whose row, its bits masked so, is `part`.
struct RowShare {
  std::uint32_t mask = 0;  ///< one less than a power of two; 0: all lookups
  std::uint32_t part = 0;
};

struct SparseStep {
  SparseRule rule = SparseRule::kSgd;
  float rate = 0.0F;
  float epsilon = 0.0F;
};

/// Kernels where outputs, or gradients of them, are of type T; all arithmetic is in float. Row n of
/// either starts at n * stride. Where weights are halved, outputs are of the upper halves alone,
/// and steps of both together.
template <class T>
struct BagKernels {
  /// Row n of out [columns] = sum over the lookups of bag n, in order.
  void (*forward)(const TableRows& rows, const BagRange& bags, T* out, std::int64_t stride);
  /// One step of SGD of one row.
  void (*step_one)(const TableRows& rows, std::int32_t row, const T* gradient, float rate);
  /// One step of SGD for each lookup, in order.
  void (*step_each)(const TableRows& rows, const Lookup* lookups, std::int64_t count,
                    const T* gradient, std::int64_t stride, float rate);
  /// One step for all neighbouring lookups of the same row, with the sum of their gradients in
  /// order. `sum` [columns] is scratch.
  void (*step_groups)(const TableRows& rows, const Lookup* lookups, std::int64_t count,
                      const T* gradient, std::int64_t stride, const SparseStep& step, float* sum);
  /// As step_each, for all lookups of the bags, by plain loops.
  void (*step_plain)(const TableRows& rows, const BagRange& bags, const T* gradient,
                     std::int64_t stride, float rate);
};

struct SparseKernels {
  BagKernels<float> f32;
  BagKernels<Bf16> bf16;
  /// Those of the lookups [first, last) that are in the share, in order: returns how many. `bag` is
  /// the first lookup's or one before; it becomes the last one's or one before. `to` has room for
  /// all.
  std::int64_t (*select)(const std::int32_t* ids, const std::int64_t* offsets, std::int64_t first,
                         std::int64_t last, std::int64_t* bag, const RowShare& share, Lookup* to);
  /// The first position of an id that is not in [0, rows); count if there is none.
  std::int64_t (*first_outside)(const std::int32_t* ids, std::int64_t count, std::int32_t rows);
  /// Random numbers, uniform in (-bound, bound), for the columns [first, first + count) of a row:
  /// column c gets an odd number of 25 bits, times bound / 2^24. It comes from word c % 64 / 16 of
  /// the Philox4x32-10 block whose counter is (c / 64 * 16 + c % 16, row, 0, 0).
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

// A table of embeddings, or a range of its columns: sums of rows, and sparse updates of them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "workloads/embedding/bags.h"
#include "workloads/embedding/options.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"

namespace nn {

/// Scratch of one thread for its part of an update; kept from step to step.
struct UpdateScratch {
  std::vector<Lookup> lookups, spare;
  std::vector<float> sum;
};

/// One of the parts into which an operation is cut.
struct WorkPart {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< a power of two
};

/// Weights [rows, columns]. Only check() checks ids. T is float or Bf16. Results do not depend on
/// the number of threads, except with kLocked and kAtomic.
class EmbeddingTable {
 public:
  /// Zeroes weights and state. Throws ConfigError as check_options() does, SystemError if there is
  /// not enough memory.
  explicit EmbeddingTable(const TableOptions& options);

  const TableOptions& options() const { return options_; }
  /// Sets how later updates are done. Throws ConfigError if the other options do not allow it.
  void set_update(TableUpdate update);
  std::int64_t rows() const { return options_.rows; }
  std::int64_t columns() const { return options_.columns; }
  /// Bytes of weights and optimizer state.
  std::int64_t memory_bytes() const;

  /// Draws weights uniformly from (-sqrt(1 / rows), sqrt(1 / rows)). Each depends only on seed,
  /// name, row, and column in the whole table. Zeroes the state.
  void initialize(std::uint64_t seed);

  /// Throws DataError if an id is not in [0, rows), or if offsets decrease or exceed the ids.
  void check(const Bags& bags) const;

  /// out[n * stride + c] = sum of column c over the rows of bag n, added in order; 0 for an empty
  /// bag.
  template <class T>
  void forward(const Bags& bags, T* out, std::int64_t stride) const;
  /// Updates every row of bag n by the gradient of the bag's sum, gradient[n * stride + c].
  template <class T>
  void update(const Bags& bags, const T* gradient, std::int64_t stride, double learning_rate);

  /// Read or write rows [first, first + size / columns) as floats. Throw ShapeError if these rows
  /// do not exist.
  void read_rows(std::int64_t first, std::span<float> out) const;
  void write_rows(std::int64_t first, std::span<const float> rows);
  /// The same for the optimizer's state of state_columns() floats per row, 0 for SGD.
  std::int64_t state_columns() const;
  void read_state_rows(std::int64_t first, std::span<float> out) const;
  void write_state_rows(std::int64_t first, std::span<const float> rows);

  /// Hash of name and weights. The hashes of the shards of a table add up to that of the whole
  /// table; the storage does not matter.
  std::uint64_t hash() const;
  /// Whether no weight is infinite or NaN.
  bool is_finite() const;

  /// Perform one part of forward() or update(). Parts may run at the same time, on threads that
  /// each have their own scratch.
  template <class T>
  void forward_part(const Bags& bags, T* out, std::int64_t stride, const WorkPart& part) const;
  template <class T>
  void update_part(const Bags& bags, const T* gradient, std::int64_t stride, double learning_rate,
                   const WorkPart& part, UpdateScratch& scratch);

 private:
  TableRows view() const;
  std::int64_t element(std::int64_t first, std::size_t values, std::int64_t width) const;
  template <class T>
  void step_locked(const BagRange& range, const T* gradient, std::int64_t stride, float rate);
  template <class T>
  void step_race_free(const Bags& bags, const T* gradient, std::int64_t stride, float rate,
                      const RowShare& share, UpdateScratch& scratch);
  template <class T>
  void step_sorted(const Bags& bags, const T* gradient, std::int64_t stride, float rate,
                   const RowShare& share, UpdateScratch& scratch);

  TableOptions options_;
  const SparseKernels* kernels_;
  AlignedFloats weights_, upper_, lower_, state_;
  std::unique_ptr<std::mutex[]> locks_;
  std::vector<UpdateScratch> scratch_;
};

}  // namespace nn

// A table of embeddings, whole or a range of its columns: sums of rows, and sparse updates of them.
// Hides memory, kernels, locks, and the sorting of lookups.
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

/// What one thread needs for its part of an update; kept from step to step.
struct UpdateScratch {
  std::vector<Lookup> lookups, spare;
  std::vector<float> sum;
};

/// One of the parts that an operation is cut into.
struct WorkPart {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< a power of two
};

/// Weights [rows, columns]. No call checks ids, save check(). T is float or Bf16. All results but
/// those of kLocked and kAtomic are the same on any number of threads.
class EmbeddingTable {
 public:
  /// Zeroed weights and state. Throws ConfigError as check_options() does, SystemError when there
  /// is no memory.
  explicit EmbeddingTable(const TableOptions& options);

  const TableOptions& options() const { return options_; }
  /// How further updates go. Throws ConfigError where that does not go with the other options.
  void set_update(TableUpdate update);
  std::int64_t rows() const { return options_.rows; }
  std::int64_t columns() const { return options_.columns; }
  /// Of weights and optimizer state.
  std::int64_t memory_bytes() const;

  /// Weights uniform in (-sqrt(1 / rows), sqrt(1 / rows)), each a function of seed, name, row and
  /// column of the whole table alone; state zero.
  void initialize(std::uint64_t seed);

  /// Throws DataError when an id is not in [0, rows), or offsets fall or leave the ids.
  void check(const Bags& bags) const;

  /// out[n * stride + c] = sum of column c over the rows of bag n, added in order; 0 for an empty
  /// bag.
  template <class T>
  void forward(const Bags& bags, T* out, std::int64_t stride) const;
  /// Every row of a bag takes the gradient of the bag's sum, gradient[n * stride + c].
  template <class T>
  void update(const Bags& bags, const T* gradient, std::int64_t stride, double learning_rate);

  /// Rows [first, first + size / columns) as floats. Throw ShapeError when there are no such rows.
  void read_rows(std::int64_t first, std::span<float> out) const;
  void write_rows(std::int64_t first, std::span<const float> rows);
  /// The optimizer's state likewise: floats per row, 0 for SGD.
  std::int64_t state_columns() const;
  void read_state_rows(std::int64_t first, std::span<float> out) const;
  void write_state_rows(std::int64_t first, std::span<const float> rows);

  /// Of name and weights. Hashes of shards that make up a table add up to that of the whole table,
  /// and the storage does not matter.
  std::uint64_t hash() const;

  /// A part of forward(), and of update(). Parts may run at the same time, on threads that each
  /// have a scratch of their own.
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

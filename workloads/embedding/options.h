// Options of an embedding table: its size, the storage of its weights, and how they are updated.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/system_facts.h"
#include "workloads/kernels/sparse_kernels.h"

namespace nn {

/// How the threads of an update divide its rows. Source: Kalamkar et al., arXiv:2005.04680.
enum class TableUpdate {
  kReference,  ///< plain loops on one thread
  kLocked,     ///< any thread takes any row, under one of many locks: the order varies between runs
  kAtomic,     ///< any thread takes any row, element by element by compare-and-swap: likewise
  kRaceFree,   ///< a row belongs to one thread, which takes a step for each lookup, in order
  kSorted      ///< likewise, but adds up the gradients of a row first, for a single step
};

/// How a weight's bits are stored.
enum class TableStorage {
  kF32,
  /// The upper and lower halves of floats in separate arrays: forward reads the upper half as a
  /// bfloat16 number, the update works on both. Source: as above, "Split-SGD-BF16".
  kSplitBf16
};

using TableUpdates = std::vector<std::pair<std::string, TableUpdate>>;
using TableStorages = std::vector<std::pair<std::string, TableStorage>>;
using SparseRules = std::vector<std::pair<std::string, SparseRule>>;
/// The choices by name, as used in configurations.
const TableUpdates& table_updates();
const TableStorages& table_storages();
const SparseRules& sparse_rules();
const std::string& to_string(TableUpdate update);
const std::string& to_string(TableStorage storage);
const std::string& to_string(SparseRule rule);

/// A table, or a range of its columns ("shard").
struct TableOptions {
  std::string name;  ///< determines the first weights, together with the seed
  std::int64_t rows = 0;
  std::int64_t table_width = 0;  ///< columns of the whole table
  std::int64_t first_column = 0;
  std::int64_t columns = 0;  ///< of this shard
  TableStorage storage = TableStorage::kF32;
  TableUpdate update = TableUpdate::kSorted;
  SparseRule rule = SparseRule::kSgd;
  double epsilon = 1e-8;  ///< for the Adagrad rules
  base::InstructionSet instruction_set = base::usable_instruction_set();
};

/// Floats of state that a rule keeps for each weight, and in addition for each row of a table or
/// shard.
struct RuleState {
  std::int64_t per_weight = 0, per_row = 0;
  std::int64_t of_row(std::int64_t columns) const { return per_weight * columns + per_row; }
};
RuleState state_of(SparseRule rule);

/// The fastest update that a rule allows, for bags of `ids_per_bag` ids on average, as measured by
/// tests/performance/embedding_benchmark. For SGD on kF32: kRaceFree, which took between half and
/// all of the time of kSorted. On kSplitBf16 the same for bags of several ids; for single ids
/// kSorted was faster by a tenth to a quarter.
TableUpdate best_update(SparseRule rule, TableStorage storage, double ids_per_bag);

/// Throws ConfigError for impossible sizes, and for choices that exclude each other: the Adagrad
/// rules need the sum of a row's gradients, so kSorted or kReference; the row-wise rule needs all
/// columns; kAtomic needs kF32; epsilon must be in divisor_range().
void check_options(const TableOptions& options);

}  // namespace nn

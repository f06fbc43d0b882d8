// What an embedding table is to be: its size, how its weights lie in memory, how they are updated.
// Hides the names of the choices, and which of them go together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/system_facts.h"
#include "workloads/kernels/sparse_kernels.h"

namespace nn {

/// How the threads of an update share its rows. Source: Kalamkar et al., arXiv:2005.04680.
enum class TableUpdate {
  kReference,  ///< not at all: plain loops on one thread
  kLocked,     ///< any thread any row, under one of many locks: the order varies from run to run
  kAtomic,     ///< any thread any row, element by element with compare-and-swap: likewise
  kRaceFree,   ///< a row belongs to one thread, which takes a step for each lookup, in order
  kSorted      ///< likewise, but adds up the gradients of a row first, for a single step
};

/// Where a weight's bits lie.
enum class TableStorage {
  kF32,
  /// The upper half of a float apart from its lower half: forward reads the upper one as a
  /// bfloat16 number, the update works on both. Source: as above, "Split-SGD-BF16".
  kSplitBf16
};

using TableUpdates = std::vector<std::pair<std::string, TableUpdate>>;
using TableStorages = std::vector<std::pair<std::string, TableStorage>>;
using SparseRules = std::vector<std::pair<std::string, SparseRule>>;
/// The choices by name, as configurations have them.
const TableUpdates& table_updates();
const TableStorages& table_storages();
const SparseRules& sparse_rules();
const std::string& to_string(TableUpdate update);
const std::string& to_string(TableStorage storage);
const std::string& to_string(SparseRule rule);

/// A table, or a range of its columns ("shard").
struct TableOptions {
  std::string name;  ///< with the seed, decides on the first weights
  std::int64_t rows = 0;
  std::int64_t table_width = 0;  ///< columns of the whole table
  std::int64_t first_column = 0;
  std::int64_t columns = 0;  ///< of this shard
  TableStorage storage = TableStorage::kF32;
  TableUpdate update = TableUpdate::kSorted;
  SparseRule rule = SparseRule::kSgd;
  double epsilon = 1e-8;  ///< of the Adagrad rules
  base::InstructionSet instruction_set = base::usable_instruction_set();
};

/// Floats of state that a rule keeps for each weight, and for each row of a table or shard beside.
struct RuleState {
  std::int64_t per_weight = 0, per_row = 0;
  std::int64_t of_row(std::int64_t columns) const { return per_weight * columns + per_row; }
};
RuleState state_of(SparseRule rule);

/// The fastest update that a rule allows, for bags of so many ids on average, as measured by
/// tests/performance/embedding_benchmark. SGD on whole floats: kRaceFree, which took between half
/// and all of the time of kSorted. On halves the same for bags of several ids; for single ids
/// kSorted was faster by a tenth to a quarter.
TableUpdate best_update(SparseRule rule, TableStorage storage, double ids_per_bag);

/// Throws ConfigError for sizes that cannot be, and for choices that do not go together: the
/// Adagrad rules need the sum of a row's gradients, so kSorted or kReference; the row-wise one
/// needs all columns; kAtomic needs whole floats; an epsilon must be in divisor_range().
void check_options(const TableOptions& options);

}  // namespace nn

// Names of a table's options, and checks of them.
#include "workloads/embedding/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runner/base/error.h"
#include "workloads/optimizer/divisor_range.h"

namespace nn {

namespace {

template <class Choices, class Choice>
const std::string& name_of(const Choices& choices, Choice choice) {
  return std::ranges::find(choices, choice, &Choices::value_type::second)->first;
}

[[noreturn]] void refuse(const TableOptions& options, const std::string& what) {
  throw base::ConfigError(fmt::format("table {}: {}", options.name, what));
}

void check_sizes(const TableOptions& options) {
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  if (options.rows < 1 || options.rows > kMostRows) {
    refuse(options, fmt::format("rows must be 1..{}, got {}", kMostRows, options.rows));
  }
  if (options.first_column < 0 || options.columns < 1 ||
      options.first_column + options.columns > options.table_width) {
    refuse(options,
           fmt::format("columns {}..{} must lie within the table's {}, and be one at least",
                       options.first_column, options.first_column + options.columns,
                       options.table_width));
  }
}

}  // namespace

const TableUpdates& table_updates() {
  static const TableUpdates all = {{"reference", TableUpdate::kReference},
                                   {"locked", TableUpdate::kLocked},
                                   {"atomic", TableUpdate::kAtomic},
                                   {"race_free", TableUpdate::kRaceFree},
                                   {"sorted", TableUpdate::kSorted}};
  return all;
}

const TableStorages& table_storages() {
  static const TableStorages all = {{"f32", TableStorage::kF32},
                                    {"split_bf16", TableStorage::kSplitBf16}};
  return all;
}

const SparseRules& sparse_rules() {
  static const SparseRules all = {{"sgd", SparseRule::kSgd},
                                  {"adagrad", SparseRule::kAdagrad},
                                  {"rowwise_adagrad", SparseRule::kRowwiseAdagrad}};
  return all;
}

const std::string& to_string(TableUpdate update) { return name_of(table_updates(), update); }
const std::string& to_string(TableStorage storage) { return name_of(table_storages(), storage); }
const std::string& to_string(SparseRule rule) { return name_of(sparse_rules(), rule); }

RuleState state_of(SparseRule rule) {
  switch (rule) {
    case SparseRule::kSgd:
      return {};
    case SparseRule::kAdagrad:
      return {.per_weight = 1};
    case SparseRule::kRowwiseAdagrad:
      return {.per_row = 1};
  }
  return {};
}

TableUpdate best_update(SparseRule rule, TableStorage storage, double ids_per_bag) {
  const bool waits = storage == TableStorage::kSplitBf16 && ids_per_bag <= 1.0;
  return rule == SparseRule::kSgd && !waits ? TableUpdate::kRaceFree : TableUpdate::kSorted;
}

void check_options(const TableOptions& options) {
  check_sizes(options);
  const bool sums =
      options.update == TableUpdate::kSorted || options.update == TableUpdate::kReference;
  if (options.rule != SparseRule::kSgd && !sums) {
    refuse(options, fmt::format("{} needs the sum of a row's gradients before its step, which the "
                                "updates sorted and reference have; got {}",
                                to_string(options.rule), to_string(options.update)));
  }
  if (options.rule == SparseRule::kRowwiseAdagrad && options.columns != options.table_width) {
    refuse(options, fmt::format("rowwise_adagrad needs all {} columns of a row, got {}",
                                options.table_width, options.columns));
  }
  if (options.update == TableUpdate::kAtomic && options.storage != TableStorage::kF32) {
    refuse(options, fmt::format("the atomic update needs the storage f32, got {}",
                                to_string(options.storage)));
  }
  const base::Check<double> range = divisor_range();
  if (!range.holds(options.epsilon)) {
    refuse(options, fmt::format("epsilon {}, got {}", range.expectation, options.epsilon));
  }
}

}  // namespace nn

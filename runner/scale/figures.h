// What `trainmark scale` tells of each row: figures and their definitions.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/checked_count.h"
#include "runner/scale/model.h"

namespace scale {

struct Result {
  std::string workload, config;
  std::vector<Row> rows;  ///< one or more; at least one has no problem
  Rates rates;
};

struct Figure {
  std::string name, definition;
  /// Of a row without a problem; null if unknown.
  std::function<nlohmann::ordered_json(const Row& row)> value;
};

/// Those of times only with a compute rate.
std::vector<Figure> figures_of(const Result& result);
/// Assumptions, and what is not predicted, in sentences.
std::vector<std::string> notes_of(const Result& result);

/// Updates of all epochs.
inline std::int64_t steps_of(const Row& row) {
  return base::checked_product(row.epochs, row.scale.steps_per_epoch);
}

}  // namespace scale

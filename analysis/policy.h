// What the rules say of settings and MLCommons' checker does not look at: bounds on
// hyperparameters, sizes of datasets, and when a benchmark is evaluated.
// Hides the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/audit_rules.h"

namespace analysis {

/// One bound. A list is held to it number by number.
struct PolicyBound {
  enum class Kind {
    kEquals,       ///< low
    kEither,       ///< low or high
    kAtLeast,      ///< >= low
    kAbove,        ///< > low
    kInside,       ///< between low and high, neither of them
    kWithin,       ///< between low and high, or one of them
    kWholeAtLeast  ///< a whole number >= low
  };
  Rule rule;
  std::string_view benchmark;  ///< "" for every benchmark of the table
  std::string_view key;
  Kind kind;
  double low = 0.0;
  double high = 0.0;
  std::optional<double> below_batch_size;  ///< holds only for smaller global batches

  bool met_by(double value) const;
  /// "must be 0.9".
  std::string expectation() const;
};
std::span<const PolicyBound> policy_bounds();

/// How far evaluations of a benchmark are apart.
struct Cadence {
  std::string_view benchmark;
  double distance;          ///< in units of epoch_num
  bool in_batches = false;  ///< the distance is a number of global batches
  std::string_view words;   ///< "every 4 epochs"
};
/// Null for a benchmark without a rule.
const Cadence* find_cadence(std::string_view benchmark);

/// The keys whose values the audit looks at, each once.
const std::vector<std::string_view>& setting_keys();

}  // namespace analysis

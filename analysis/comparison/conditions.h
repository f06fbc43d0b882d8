// Conditions in which two sides of a comparison differ.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/comparison/side.h"

namespace analysis::comparison {

/// A condition with a different value on each side.
struct ConditionDifference {
  std::string what, first, second;
};

/// Differences that make the comparison unfair: round, division, batch size, target, data,
/// optimizer, and how staging, evaluation and scores are accounted for.
std::vector<ConditionDifference> unequal_conditions(const Side& first, const Side& second);

/// Differences that may explain the result: machine, size, settings, program. Values that vary
/// among the runs of a side, such as seeds, are left out.
std::vector<ConditionDifference> other_differences(const Side& first, const Side& second);

/// The conditions of two results that differ, of those in `names`: "ranks: 2 and 4".
std::vector<std::string> differing_conditions(std::span<const char* const> names,
                                              const std::map<std::string, std::string>& first,
                                              const std::map<std::string, std::string>& second);

}  // namespace analysis::comparison

// The verdict on one log, and every reason for it.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/finding.h"

namespace mllog::rules {

enum class Warnings { kAllowed, kAreErrors };

/// What was found of a key: a Finding whose rule is "<file>/<key>/<aspect>", or "log/<aspect>".
struct KeyFinding {
  Finding finding;
  std::string key;  ///< "" for the log as a whole
};

/// The verdict of mlcommons' compliance checker, and every reason for it.
struct Judgement {
  bool passes = false;
  std::string ruleset;
  std::vector<std::string> files;    ///< the rule files that applied, in their order
  std::vector<KeyFinding> findings;  ///< by place; those of the whole log last
  /// The keys that mlcommons' messages name, sorted. Of alternatives, one; none where only
  /// the set of initialized tensors is wrong.
  std::vector<std::string> failing_keys;
};

}  // namespace mllog::rules

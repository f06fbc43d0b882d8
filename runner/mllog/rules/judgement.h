// The verdict on one log, and the findings behind it.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/finding.h"

namespace mllog::rules {

enum class Warnings { kAllowed, kAreErrors };

/// A finding about a key. Its rule is "<file>/<key>/<aspect>", or "log/<aspect>".
struct KeyFinding {
  Finding finding;
  std::string key;  ///< "" for the log as a whole
};

/// The verdict of MLCommons' compliance checker, and the findings behind it.
struct Judgement {
  bool passes = false;
  std::string ruleset;
  std::vector<std::string> files;    ///< the rule files that applied, in order
  std::vector<KeyFinding> findings;  ///< sorted by place; those about the whole log last
  /// The keys that MLCommons' messages name, sorted; one of several alternatives. Empty if only the
  /// set of initialized tensors is wrong.
  std::vector<std::string> failing_keys;
};

}  // namespace mllog::rules

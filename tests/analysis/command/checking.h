// Calls the command `check` for tests.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "analysis/command/check.h"
#include "analysis/command/outcome.h"
#include "runner/mllog/rules/made_log.h"

namespace checking {

inline Outcome check(const analysis::command::CheckOptions& options) {
  std::ostringstream out, people;
  const base::ExitCode code = analysis::command::check(options, out, people, 80);
  return {code, out.str(), people.str()};
}

inline analysis::command::CheckOptions reading(const std::vector<std::string>& paths) {
  analysis::command::CheckOptions options;
  options.paths = paths;
  return options;
}

/// A log of cosmoflow in HPC 1.0 that keeps every rule.
inline std::string good_log() {
  return made::text_of(
      made::good_log(made::rules_of("hpc", "1.0"), {"closed", "cosmoflow", "sgd", ""}));
}

/// "usage: " or "other: " and the message of the error; "" without an error.
inline std::string refusal(const analysis::command::CheckOptions& options) {
  try {
    check(options);
  } catch (const base::Error& error) {
    return (error.code() == base::ExitCode::kUsage ? "usage: " : "other: ") +
           std::string(error.what());
  }
  return "";
}

}  // namespace checking

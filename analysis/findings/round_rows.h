// The systems of a round, a row each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

struct RoundRow {
  const SystemReport* system = nullptr;
  std::string submitter;  ///< of its description, else the first part of its label; "" if unknown
  std::string name;       ///< of the system, without the submitter
  std::optional<double> score_min;
};

/// The rows of each benchmark, the best score first; systems without a score last. The report
/// outlives them.
std::map<std::string, std::vector<RoundRow>> rows_of_round(const Report& report);

}  // namespace analysis

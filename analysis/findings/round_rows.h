// The systems of a round, a row each, and the columns that every form of the table has.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

struct RoundRow {
  const SystemReport* system = nullptr;
  std::string submitter;  ///< of its description, else <submitter>/results/; "-" if unknown
  std::string name;       ///< of the system, without the submitter
};

/// The rows of each benchmark, the best score first; systems without a score last. The report
/// outlives them.
std::map<std::string, std::vector<RoundRow>> rows_of_round(const Report& report);

/// Whether a table of systems says something: there are several, and one has a score or a rate of
/// models.
bool is_round(const Report& report);

struct RoundColumn {
  std::string heading;
  std::string figure;                                   ///< its name, for definition_of()
  std::function<std::string(const SystemFacts&)> text;  ///< "-" if absent
};
/// Units, runs, score, epochs and rate; models per minute if a system of the report has it.
std::vector<RoundColumn> columns_of_round(const Report& report);

}  // namespace analysis

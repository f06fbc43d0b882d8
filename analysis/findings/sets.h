// Sets: the runs of each folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

/// One run and the place of its log. What the pointers refer to must outlive this.
struct PlacedRun {
  const std::string* folder = nullptr;  ///< its name in the report
  const std::filesystem::path* path = nullptr;
  const RunFacts* facts = nullptr;
  bool breaks_rules = false;
  const RunTelemetry* telemetry = nullptr;  ///< null if there is none
};

/// A report for each folder with runs that count for a set, by folder name.
std::vector<SystemReport> systems_of(const std::vector<PlacedRun>& runs);

}  // namespace analysis

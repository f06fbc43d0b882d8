// The runs of each folder together.
// Hides which folders count.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

/// One run and where its log lies. All of it outlives this.
struct PlacedRun {
  const std::string* folder = nullptr;  ///< its name in the report
  const std::filesystem::path* path = nullptr;
  const RunFacts* facts = nullptr;
  bool breaks_rules = false;
};

/// A report for each folder with runs that count for a set, in the order of the folders' names.
std::vector<SystemReport> systems_of(const std::vector<PlacedRun>& runs);

}  // namespace analysis

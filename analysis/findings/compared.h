// Compares runs, systems and submissions: the input of the writers of `trainmark compare`.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "analysis/comparison/run_comparison.h"
#include "analysis/findings/report.h"

namespace analysis {

/// A set of runs and its label in a comparison.
struct ComparedSide {
  std::size_t path = 0;  ///< index of its path
  std::string label;     ///< "A" for the first path; "B1", "B2" if a path has several such sets
  const SystemReport* system = nullptr;
  comparison::Side side;  ///< its name is its path
};

/// Sets of one benchmark that are compared with the first of them.
struct ComparedGroup {
  std::string benchmark;
  std::vector<ComparedSide> sides;                     ///< the first is the baseline
  std::vector<comparison::RunComparison> comparisons;  ///< of sides[i + 1] with the first
};

struct Compared {
  std::deque<Report> reports;  ///< one for each path; the sides point to them
  std::vector<ComparedGroup> groups;
  std::vector<std::string> left_out;  ///< sets without a counterpart, each a sentence
  std::vector<std::string> damaged;   ///< configurations that could not be read, and why
  comparison::Per per = comparison::Per::kSystem;
};

/// Reads the logs in each of `paths`. A set of another path is compared with the first path's set
/// of the same benchmark. If there are several, with the one in a folder of the same name, else
/// with the fastest, by the time that options.per compares. Throws DataError for a path without
/// logs, and if no benchmark of the first path is in another path.
Compared compare_paths(const std::vector<std::string>& paths,
                       const comparison::ComparisonOptions& options, int threads);

}  // namespace analysis

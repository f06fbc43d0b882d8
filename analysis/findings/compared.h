// Runs, systems and submissions that are held against each other: what the writers of
// `trainmark compare` draw from. Hides how sets of several paths find their counterparts.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "analysis/comparison/run_comparison.h"
#include "analysis/findings/report.h"

namespace analysis {

/// A set of runs and what it is called in a comparison.
struct ComparedSide {
  std::size_t path = 0;  ///< which of the paths it is of
  std::string label;     ///< "A" of the first path; "B1", "B2" where a path has several such sets
  const SystemReport* system = nullptr;
  comparison::Side side;  ///< named by its path
};

/// Sets of one benchmark that are held against one of them.
struct ComparedGroup {
  std::string benchmark;
  std::vector<ComparedSide> sides;                     ///< the first is what others face
  std::vector<comparison::RunComparison> comparisons;  ///< of sides[i + 1] and the first
};

struct Compared {
  std::deque<Report> reports;  ///< one for each path, to which the sides point
  std::vector<ComparedGroup> groups;
  std::vector<std::string> left_out;  ///< sets without a counterpart, each a sentence
  std::vector<std::string> damaged;   ///< configurations that could not be read, and why
  comparison::Per per = comparison::Per::kSystem;
};

/// Reads the logs in each of `paths`. Of one benchmark, sets of other paths face that of the first
/// path; where it has several, the one whose folder has the same name, else its fastest (by time as
/// it is compared). Throws DataError for a path without logs, and where the first has no benchmark
/// in common with others.
Compared compare_paths(const std::vector<std::string>& paths,
                       const comparison::ComparisonOptions& options, int threads);

}  // namespace analysis

// Reads logs and what lies beside them into a Report.
// Hides how logs are found and read, and how they form sets.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

struct ReadOptions {
  int threads = 0;                         ///< logs read at the same time; 0: one on each CPU
  std::istream* standard_input = nullptr;  ///< what the path "-" means
  bool traces = true;                      ///< which may be large
  bool scores = true;                      ///< which need each log's verdict
};

/// Reads the logs in `paths`, as find_logs() finds them. Names are relative to the path; of several
/// paths, to the folder that they have in common. Never throws for what it reads: problems and
/// findings tell.
Report make_report(const std::vector<std::string>& paths, const ReadOptions& options = {});

}  // namespace analysis

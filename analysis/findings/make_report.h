// Reads logs and the files next to them into a Report.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis {

struct ReadOptions {
  int threads = 0;                         ///< logs read concurrently; 0: one per CPU
  std::istream* standard_input = nullptr;  ///< read for the path "-"
  bool traces = true;                      ///< read traces, which may be large
  bool scores = true;                      ///< compute scores, which need each log's verdict
};

/// Reads the logs in `paths`, found by find_logs(). Names are relative to the path, or to the
/// folder that several paths have in common. Never throws for what it reads: reports problems and
/// findings.
Report make_report(const std::vector<std::string>& paths, const ReadOptions& options = {});

}  // namespace analysis

// Verdicts and findings by file, for the formats of other programs.
// Hides that logs, folders and submissions are judged apart.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/check_report.h"

namespace analysis::report {

/// What was found in one file or folder. Findings may carry rules of the catalogue and others.
struct JudgedFile {
  std::string file;  ///< its path, any bytes
  bool passed = true;
  std::vector<Finding> findings;
};

/// Each log, then each folder and other file that something was found in. A log passes by the rules
/// of its round; a folder or other file unless it has an error.
std::vector<JudgedFile> judged_files(const CheckReport& report);

}  // namespace analysis::report

// Verdicts and findings by file, for the formats of other programs.
// Hides that logs, folders and submissions are judged apart.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis {

/// What was found in one file or folder. Findings may carry rules of the catalogue and others.
struct JudgedFile {
  std::string file;  ///< its path as it was found, any bytes
  Verdict verdict = Verdict::kSuccess;
  std::string unknown_because;  ///< of kUnknown
  std::vector<Finding> findings;
};

/// Each log, then each folder and other file that something was found in; one fails exactly where
/// the exit code of the command would fail for it: a log by the rules of its round, unless its
/// submission forgives that; a folder by its RCP test; anything by an error of the submission's
/// check. The audit fails nothing.
std::vector<JudgedFile> judged_files(const CheckReport& report);

}  // namespace analysis

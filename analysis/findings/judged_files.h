// Verdicts and findings by file, for SARIF and JUnit.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis {

/// One file or folder. The rules of its findings need not be in the catalogue.
struct JudgedFile {
  std::string file;  ///< its path as found, any bytes
  Verdict verdict = Verdict::kSuccess;
  std::string unknown_because;  ///< for kUnknown
  std::vector<Finding> findings;
};

/// Each log, then each folder and other file with a finding. An entry fails exactly if the exit
/// code of the command reports a failure for it: a log by the rules of its round, unless its
/// submission or group forgives that; a folder by its RCP test, or as a group without a window to
/// submit; anything by an error of the check of its submission, or because it cannot be read. The
/// audit fails nothing.
std::vector<JudgedFile> judged_files(const CheckReport& report);

}  // namespace analysis

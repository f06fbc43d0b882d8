// Findings that somebody knows of and has answered: they are kept, with the answer, and not told
// again. Hides the file that names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis {

/// One entry. Rule and path are patterns as the shell has them ('*', '?', '[...]'); '*' also
/// matches '/'.
struct Suppression {
  std::string rule;    ///< of the audit or of the check of a submission
  std::string path;    ///< of a log or folder, as the report names it
  std::string reason;  ///< never empty
};

/// Reads {"suppressions": [{"rule": R, "path": P, "reason": WHY}, ...]}, comments allowed. Throws
/// ConfigError with line or member for what is no such file, for an entry whose rule is none, and
/// for rules of verdicts, which nothing suppresses.
std::vector<Suppression> read_suppressions(const std::filesystem::path& file);

/// Gives each finding of the audit, and each of the submission's check that is no error, the reason
/// of the first entry that names it. Errors that fail a submission stay. Fills
/// report.suppressions.
void suppress(CheckReport& report, const std::vector<Suppression>& suppressions);

}  // namespace analysis

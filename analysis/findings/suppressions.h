// Suppressions of findings: a suppressed finding stays in the report with a reason, but is not
// shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis {

/// One entry. Rule and path are shell patterns ('*', '?', '[...]'); '*' also matches '/'.
struct Suppression {
  std::string rule;    ///< a rule of the audit or of the check of a submission
  std::string path;    ///< a log or folder, as the report names it
  std::string reason;  ///< never empty
};

/// Reads {"suppressions": [{"rule": R, "path": P, "reason": WHY}, ...]}, comments allowed. Throws
/// ConfigError, with the line or member, for an invalid file, an entry whose rule matches none, and
/// rules of verdicts, which cannot be suppressed.
std::vector<Suppression> read_suppressions(const std::filesystem::path& file);

/// Gives each finding of the audit, and each finding of the submission's check that is not an
/// error, the reason of the first entry that matches it. Errors of the submission's check stay as
/// they are. Fills in report.suppressions.
void suppress(CheckReport& report, const std::vector<Suppression>& suppressions);

}  // namespace analysis

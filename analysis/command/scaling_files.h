// Files scaling.json: the factors of the RCP test, by which MLCommons' summarizer multiplies
// scores.
#pragma once

#include <iosfwd>
#include <vector>

#include "analysis/command/outputs.h"
#include "analysis/findings/check_report.h"

namespace analysis::command {

/// scaling.json for each folder of a submission whose runs passed the test without a bypass, and
/// converged faster than the reference. A folder that has such a file keeps it, since a review may
/// have set its factor; a different factor is reported to `messages`.
std::vector<OutputFile> scaling_files(const CheckedSubmission& checked, std::ostream& messages);

}  // namespace analysis::command

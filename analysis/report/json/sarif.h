// Findings as SARIF 2.1.0 (OASIS), which code review tools and editors read.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/judged_files.h"

namespace analysis::report {

/// The document as text with a line end: one run of the tool `trainmark` of this version. Describes
/// every rule of the catalogue. A file whose verdict is FAIL or UNKNOWN has a result of rule
/// "verdict". Files are declared as latin-1, so columns count bytes. Valid UTF-8 for any input.
std::string findings_sarif(const std::vector<JudgedFile>& files, const std::string& version);

}  // namespace analysis::report

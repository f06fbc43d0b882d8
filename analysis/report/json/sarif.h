// Findings as SARIF 2.1.0 (OASIS), which code review tools and editors read.
// Hides the format.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/judged_files.h"

namespace analysis::report {

/// The document as text with a line end: one run of the tool `trainmark` of this version. Every
/// rule of the catalogue is described; a file that failed has a result of rule "verdict". Columns
/// count characters of files read as latin-1, which are bytes. Valid UTF-8 whatever the texts hold.
std::string findings_sarif(const std::vector<JudgedFile>& files, const std::string& version);

}  // namespace analysis::report

// Findings as JUnit XML, which continuous integration systems show as tests.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/judged_files.h"

namespace analysis::report {

/// The document as text with a line end: a test suite `suite` with a test case for each file, whose
/// class is the file's folder. The case fails with the file's errors if the verdict is FAIL, and is
/// skipped if it is UNKNOWN. Other findings are in the case's output. Valid XML 1.0 for any input.
std::string findings_junit(const std::vector<JudgedFile>& files, const std::string& suite);

}  // namespace analysis::report

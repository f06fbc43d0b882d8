// Findings as JUnit XML, which continuous integration systems show as tests.
// Hides the format.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/judged_files.h"

namespace analysis::report {

/// The document as text with a line end: a test suite `suite` with a test case for each file, in
/// the class of its folder; failed where the file's verdict is, with its errors as the message.
/// Further findings stand in the case's output. Valid XML 1.0 whatever the texts hold.
std::string findings_junit(const std::vector<JudgedFile>& files, const std::string& suite);

}  // namespace analysis::report

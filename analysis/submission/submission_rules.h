// The rules of submissions as data: configs/submission/ when the program was built.
// Hides the build step that puts them there.
#pragma once

#include <span>

#include "runner/base/embedded_file.h"

namespace analysis::submission {

/// In the order of their names: "rcp/cosmoflow.json".
std::span<const base::EmbeddedFile> embedded_submission_rules();

}  // namespace analysis::submission

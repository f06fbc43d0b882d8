// The embedded rules of submissions: the files of configs/submission/ at build time.
#pragma once

#include <span>

#include "runner/base/embedded_file.h"

namespace analysis::submission {

/// The files by name, such as "rcp/cosmoflow.json".
std::span<const base::EmbeddedFile> embedded_submission_rules();

}  // namespace analysis::submission

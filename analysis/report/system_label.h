// What a system is called where its benchmark is known.
// Hides the parts of a submission's layout.
#pragma once

#include <string>

#include "analysis/report/report.h"

namespace analysis::report {

/// "CSCS/results/daint/cosmoflow" as "CSCS/daint".
std::string label_of(const SystemReport& system);

}  // namespace analysis::report

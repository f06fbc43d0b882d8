// The registry of the program's workloads.
#pragma once

#include <vector>

#include "runner/workload.h"

namespace workloads {

/// One entry per workload, in the order in which help shows them.
std::vector<runner::WorkloadEntry> registry();

}  // namespace workloads

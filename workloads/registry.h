// The registry of the program's workloads and benchmarks of the machine.
#pragma once

#include <vector>

#include "runner/workload.h"

namespace workloads {

/// One entry per workload, in the order in which help shows them.
std::vector<runner::WorkloadEntry> registry();

/// Benchmarks that are of no workload, likewise.
std::vector<runner::MachineBench> machine_benches();

}  // namespace workloads

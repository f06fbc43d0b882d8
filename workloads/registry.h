// The registry of the program's workloads, of their own commands, and of benchmarks of the machine.
#pragma once

#include <vector>

#include "runner/base/command.h"
#include "runner/workload.h"

namespace workloads {

/// One entry per workload, in the order in which help shows them.
std::vector<runner::WorkloadEntry> registry();

/// Benchmarks that are of no workload, likewise.
std::vector<runner::MachineBench> machine_benches();

/// Commands that one workload brings.
std::vector<base::Command> commands();

}  // namespace workloads

// What people should know about the data of a run although it did not end the run.
#pragma once

#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/console.h"
#include "runner/workload.h"

namespace runner {

/// Collective. Warns on the console of the remarks of all ranks' workloads since the last call, of
/// equal ones once, and returns them on rank 0.
std::vector<std::string> report_remarks(const Communicator& world, Workload& workload,
                                        Console& console);
/// The same, on stderr, for a command without a console.
void report_remarks(const Communicator& world, Workload& workload);

}  // namespace runner

// The program, whichever workloads it has.
// Hides how its rooms are wired together.
#pragma once

#ifdef TRAINMARK_RUNNER

#include <vector>

#include "runner/workload.h"

/// Parses and runs; returns the exit status. Help shows the workloads in their order.
int run_trainmark(int argc, char** argv, std::vector<runner::WorkloadEntry> workloads);

#else

/// The half that analyses.
int run_trainmark(int argc, char** argv);

#endif

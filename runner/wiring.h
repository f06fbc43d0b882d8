// The program with a given set of workloads.
#pragma once

#ifdef TRAINMARK_RUNNER

#include <vector>

#include "runner/base/command.h"
#include "runner/workload.h"

/// Parses and runs the command line; returns the exit status. Help lists the workloads in the given
/// order. `commands` are those of the workloads themselves.
int run_trainmark(int argc, char** argv, std::vector<runner::WorkloadEntry> workloads,
                  std::vector<runner::MachineBench> machine_benches = {},
                  const std::vector<base::Command>& commands = {});

#else

/// Without the runner: only the commands that analyse logs.
int run_trainmark(int argc, char** argv);

#endif

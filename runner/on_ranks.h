// Runs a command that needs ranks: MPI's start, its end, and what happens to a failure between.
// Hides which failures end the job at once.
#pragma once

#include <cstdint>

#include "runner/base/command.h"
#include "runner/mpi_timeout.h"

namespace runner {

/// Starts MPI, runs `action` on every rank of the job (one, without a launcher), ends MPI and
/// returns the exit status. An exception of one rank ends the whole job with its message and code.
/// So does a start or an end of MPI that takes longer than `mpi_timeout_s` (0: any time is right).
int run_on_ranks(int argc, char** argv, const base::Command::Action& action,
                 std::int64_t mpi_timeout_s = kMpiTimeoutS);

}  // namespace runner

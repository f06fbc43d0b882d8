// Runs a command on MPI ranks: starts MPI, ends MPI, and handles failures in between.
#pragma once

#include <cstdint>

#include "runner/base/command.h"
#include "runner/mpi_timeout.h"

namespace runner {

/// Starts MPI, runs `action` on every rank of the job (one, without a launcher), ends MPI and
/// returns the exit status. An exception on one rank ends the whole job with its message and code.
/// So does starting or ending MPI if it takes longer than `mpi_timeout_s` (0: no limit).
int run_on_ranks(int argc, char** argv, const base::Command::Action& action,
                 std::int64_t mpi_timeout_s = kMpiTimeoutS);

}  // namespace runner

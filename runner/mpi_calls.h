// Error checking for files that call MPI.
#pragma once

namespace runner {

/// Throws a SystemError with the call's name and MPI's error text unless `code` is MPI_SUCCESS.
void check(int code, const char* call);

/// Whether MPI_Abort waits before it ends anything. From version 5 on, Open MPI calls it by itself
/// as soon as a connection breaks, as when another rank was killed. MpiEnvironment makes it wait
/// there, so that the watchdog or the launcher ends the job and rank 0 can log why.
bool does_abort_wait();

/// Whether MPI is finalized.
bool is_finalized();

/// Whether collective calls must not run: the other ranks may be elsewhere, or MPI is finalized.
bool unwinding_or_finalized();

}  // namespace runner

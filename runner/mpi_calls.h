// Error checking for files that call MPI.
#pragma once

namespace runner {

/// Throws a SystemError with the call's name and MPI's error text unless `code` is MPI_SUCCESS.
void check(int code, const char* call);

/// Whether MPI is finalized.
bool is_finalized();

/// Whether collective calls must not run: the other ranks may be elsewhere, or MPI is finalized.
bool unwinding_or_finalized();

}  // namespace runner

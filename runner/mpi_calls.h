// What every file that calls MPI needs.
// Hides error codes and their texts.
#pragma once

namespace runner {

/// Throws a SystemError with MPI's text behind the name of the call.
void check(int code, const char* call);

/// Whether MPI has ended.
bool is_finalized();

/// Whether collective calls may not run: the other ranks are elsewhere, or MPI has ended.
bool unwinding_or_finalized();

}  // namespace runner

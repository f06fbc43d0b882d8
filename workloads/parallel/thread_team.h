// Sets the number of OpenMP threads of a rank.
#pragma once

namespace parallel {

/// Makes OpenMP use teams of exactly `threads` threads from now on. Throws ConfigError when an
/// environment variable limits the number of threads, or binds them to fewer CPUs. Without the
/// check, oneDNN's barriers would wait forever for a missing thread.
void use_threads(int threads);

}  // namespace parallel

// The threads of a rank's passes.
#pragma once

namespace parallel {

/// OpenMP's teams have this many threads from now on, whatever is asked of it. Throws ConfigError
/// where a variable of the environment keeps threads away, or binds them to fewer CPUs: oneDNN's
/// barriers wait for every thread, for ever where one is missing.
void use_threads(int threads);

}  // namespace parallel

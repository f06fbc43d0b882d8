// The team of threads that OpenMP really gives, which its environment variables may make smaller.
#pragma once

#include <string>
#include <vector>

namespace runner {

struct OpenMpTeam {
  int threads = 0;
  std::vector<int> cpus;  ///< those that its threads may use, ascending; empty if unknown
};

/// Runs a team that is to have `threads` threads, and looks at it; turns OMP_DYNAMIC off. Throws
/// SystemError if the system refuses to start them, which would end the process inside the OpenMP
/// library.
OpenMpTeam count_team(int threads);

/// "NAME=value" of the environment variable by which a team of `threads` threads got fewer;
/// "OpenMP" if none does.
std::string limiting_variable(int threads);
/// "NAME=value" of the environment variable that binds OpenMP's threads to CPUs; "" if none does.
std::string binding_variable();

}  // namespace runner

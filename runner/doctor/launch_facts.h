// What the environment reveals about launcher, scheduler and threads before MPI starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runner/doctor/finding.h"

namespace doctor {

using Environment = std::map<std::string, std::string>;

/// `environment`: a null-terminated list of NAME=value, like environ.
Environment environment_of(const char* const* environment);
/// "" if it is not set.
std::string variable(const Environment& environment, const std::string& name);
/// Nothing if it is not set or not an integer.
std::optional<std::int64_t> number(const Environment& environment, const std::string& name);

struct LaunchFacts {
  enum class Launcher {
    kNone,
    kWithPmi,   ///< mpirun, or a scheduler's own launcher with a PMI
    kSrunAlone  ///< a step of srun without PMI: MPI sees single ranks, or fails
  };
  Launcher launcher = Launcher::kNone;
  std::int64_t rank = 0, local_rank = 0;
  std::int64_t ranks = 1, node_ranks = 1;  ///< as far as the launcher tells
  std::string scheduler;                   ///< Slurm, PBS, LSF, Flux, SGE; "" outside of a job
  std::optional<std::int64_t> nodes;       ///< of the job
  std::optional<std::int64_t> node_cpus;   ///< of the job, on this node
};
LaunchFacts read_launch(const Environment& environment);

/// launch.pmi and, for a single process in a job of several nodes, launch.nodes.
Findings judge_launch(const LaunchFacts& launch);
/// launch.openmp and cpu.library_limit: variables that hurt a rank of `threads` threads on `cpus`.
Findings judge_variables(const Environment& environment, std::int64_t threads, std::int64_t cpus);

}  // namespace doctor

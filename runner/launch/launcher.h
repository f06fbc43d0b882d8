// The launcher of this process, and what launcher and scheduler reveal about the job through
// environment variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace launch {

using Environment = std::map<std::string, std::string>;
/// The environment of this process.
Environment environment();
/// "" if it is not set.
std::string value_of(const Environment& environment, const std::string& name);

/// The kind of program that started the ranks.
enum class LauncherKind {
  kNone,  ///< started alone, from a shell or batch script
  kMpirun,
  kSrun,
  kHydra,  ///< MPICH's and Intel's mpiexec
  kFlux,
  kPals,
  kPjm,
  kJsrun,
  kPmix,     ///< another launcher that supports PMIx
  kTorchrun  ///< PyTorch's, which starts no MPI jobs
};

/// The service by which MPI finds its peers.
enum class PeerService { kNone, kPmi, kPmix };

/// A launcher's facts about a process before MPI starts; unknown counts are 0.
struct Launcher {
  LauncherKind kind = LauncherKind::kNone;
  PeerService peers = PeerService::kNone;
  std::int64_t rank = 0, ranks = 0;
  std::int64_t local_rank = 0, local_ranks = 0;  ///< on this node
  std::int64_t nodes = 0;
  bool rank_0_knows = true;  ///< whether rank 0's variables, too, tell that there are others
};

/// Throws ConfigError naming a variable that is not a number, or a rank that is not below the
/// number of ranks. Under mpirun, Slurm's variables describe mpirun's daemon and are ignored.
Launcher launcher_of(const Environment& environment);

/// The launcher's kind; ignores malformed values.
LauncherKind kind_of(const Environment& environment);

/// The rank, or 0 if it is unknown or malformed; to decide who prints before MPI starts.
std::int64_t launched_rank(const Environment& environment) noexcept;

/// Whether a launcher waits for this process to start MPI, or started others that it cannot join.
/// Throws like launcher_of().
bool has_peers(const Environment& environment);

/// A job's allocation; empty and 0 if unknown.
struct Allocation {
  std::string scheduler;       ///< "Slurm"
  std::string job;             ///< its id
  std::string cluster;         ///< name
  std::int64_t nodes = 0;      ///< of the job, or of this process's job step
  std::int64_t node_cpus = 0;  ///< on this node
  /// Index in a job array, if the id does not contain it: "3"; else "".
  std::string task = {};
};

/// Malformed numbers count as unknown: only advice depends on them.
Allocation allocation_of(const Environment& environment);

/// "slurm 17", "lsf 5[3]" for an array's task; "" outside of a job.
std::string job_text(const Allocation& allocation);

/// The major version in MPI's own name ("Open MPI v4.1.4"); 0 for other libraries.
int open_mpi_version(const std::string& library);

/// Why MPI cannot start, and what to do; "" if nothing is wrong. `library` is MPI's own name: "Open
/// MPI v4.1.4".
std::string start_problem(const Launcher& launcher, const std::string& library);

/// Why the launcher's processes do not form one job of `mpi_ranks` ranks, and what to do; "" if
/// they do.
std::string size_problem(const Launcher& launcher, std::int64_t mpi_ranks,
                         const std::string& library);

/// "srun", "mpirun"; "the shell" without a launcher.
std::string name_of(LauncherKind kind);

}  // namespace launch

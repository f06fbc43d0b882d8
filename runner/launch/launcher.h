// Who started this process, and what launcher and scheduler say of the job.
// Hides the environment variables of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace launch {

using Environment = std::map<std::string, std::string>;
/// Of this process.
Environment environment();
/// "" where it is not set.
std::string value_of(const Environment& environment, const std::string& name);

/// What starts ranks.
enum class LauncherKind {
  kNone,  ///< started alone: from a shell, or as a batch script does
  kMpirun,
  kSrun,
  kHydra,  ///< MPICH's and Intel's mpiexec
  kFlux,
  kPals,
  kPjm,
  kJsrun,
  kPmix  ///< another one that speaks PMIx
};

/// What MPI would find its peers by.
enum class PeerService { kNone, kPmi, kPmix };

/// What a launcher tells of a process before MPI starts; 0 for counts that it does not tell.
struct Launcher {
  LauncherKind kind = LauncherKind::kNone;
  PeerService peers = PeerService::kNone;
  std::int64_t rank = 0, ranks = 0;
  std::int64_t local_rank = 0, local_ranks = 0;  ///< on this node
  std::int64_t nodes = 0;
};

/// Throws ConfigError naming a variable that is no number, or a rank that is not below the ranks.
/// Under mpirun, Slurm's variables tell of mpirun's daemon and are left alone.
Launcher launcher_of(const Environment& environment);

/// What started the process; garbage in other variables does not matter.
LauncherKind kind_of(const Environment& environment);

/// The rank, 0 where nothing tells of one or what tells is garbage: for who may speak before MPI.
std::int64_t launched_rank(const Environment& environment) noexcept;

/// Whether a launcher waits for this process to start MPI, or started others that it cannot join.
/// Throws as launcher_of() does.
bool has_peers(const Environment& environment);

/// What a scheduler gave to the job; empty and 0 where it does not say.
struct Allocation {
  std::string scheduler;       ///< "Slurm"
  std::string job;             ///< its id
  std::string cluster;         ///< name
  std::int64_t nodes = 0;      ///< of the job, or of the job step that this process belongs to
  std::int64_t node_cpus = 0;  ///< on this node
  /// Of a job array, where the job's id does not tell which: "3"; else "".
  std::string task = {};
};

/// Numbers that are none count as not told: nothing depends on them but advice.
Allocation allocation_of(const Environment& environment);

/// "slurm 17", "lsf 5[3]" of an array's task; "" outside of a job.
std::string job_text(const Allocation& allocation);

/// Why MPI cannot start, and what to do; "" where nothing speaks against it. `library` as MPI names
/// itself: "Open MPI v4.1.4".
std::string start_problem(const Launcher& launcher, const std::string& library);

/// Why the launcher's processes are not one job of `mpi_ranks` ranks, and what to do; "" where they
/// are.
std::string size_problem(const Launcher& launcher, std::int64_t mpi_ranks,
                         const std::string& library);

/// "srun", "mpirun"; "the shell" without a launcher.
std::string name_of(LauncherKind kind);

}  // namespace launch

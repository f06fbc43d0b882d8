// Facts about the machine and the build: the provenance of every measurement.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace base {

/// Instruction sets that the project's kernels are compiled for, weakest first.
enum class InstructionSet { kBaseline, kAvx2, kAvx512, kAvx512Bf16, kAmx };

std::string to_string(InstructionSet set);
/// The strongest set that this CPU supports; the environment variable TRAINMARK_MAX_ISA (baseline,
/// avx2, avx512, avx512_bf16, amx) lowers it. Throws ConfigError if the variable has another value.
InstructionSet usable_instruction_set();

/// CPUs that this process may use: the affinity mask, limited by the cgroup's quota (rounded up).
int usable_cpus();

/// gethostname(), or "unknown" if that fails.
std::string host_name();

/// git revision (with "-dirty"), version, compiler and build type, fixed at build time.
nlohmann::json build_facts();
/// CPU model, sockets, cores, memory, cgroup limits, kernel, host name, transparent huge pages,
/// governor; ONEDNN_*/OMP_*, Open MPI's and scheduler variables; instruction set.
nlohmann::json machine_facts();
/// Keys of machine_facts(): the host's name, and facts of a process rather than of its machine.
inline constexpr char kHostKey[] = "host";
inline constexpr char kEnvironmentKey[] = "environment";
inline constexpr char kAffinityKey[] = "affinity";
inline constexpr char kUsableCpusKey[] = "usable_cpus";

/// Largest resident set of this process so far, in bytes (VmHWM; under mpirun it counts
/// shared-memory segments).
std::int64_t peak_rss_bytes();
/// Seconds since this process was started, loading included, with a resolution of 0.01 s. 0 if
/// unknown.
double process_age_s();

}  // namespace base

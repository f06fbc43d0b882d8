// Judges a machine's properties against the needs of a run.
#pragma once

#include "runner/doctor/finding.h"
#include "runner/doctor/host_facts.h"
#include "runner/doctor/needs.h"

namespace doctor {

/// Memory, /dev/shm and limits.
Findings judge_memory(const HostFacts& host, const Needs& needs);
Findings judge_limits(const HostFacts& host, const Needs& needs);
/// CPU, clocks, page caches.
Findings judge_machine(const HostFacts& host, const Needs& needs);
/// Judges the processes `busy` on a machine with `cpus` CPUs.
Finding judge_busy(const std::vector<BusyProcess>& busy, std::int64_t cpus);

}  // namespace doctor

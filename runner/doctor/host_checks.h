// Judges what a machine is against what a run needs of it.
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
/// `busy`, on a machine of `cpus` CPUs.
Finding judge_busy(const std::vector<BusyProcess>& busy, std::int64_t cpus);

}  // namespace doctor

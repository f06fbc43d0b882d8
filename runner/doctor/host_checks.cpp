// Verdicts on CPU, clocks, page caches and other users.
#include "runner/doctor/host_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace doctor {
namespace {

Finding not_known(const char* id, const char* why) {
  return {id, Verdict::kNotKnown, "", why, "", "", {}};
}

Findings judge_cpu(const HostFacts& host, const Needs& needs) {
  std::string features;
  for (const char* flag : {"avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"}) {
    if (host.cpu_flags.contains(flag)) features += std::string(" ") + flag;
  }
  Findings findings = {{"cpu.instruction_set",
                        Verdict::kOk,
                        "",
                        host.instruction_set + (features.empty() ? "" : "; the CPU has" + features),
                        "",
                        "",
                        {}}};
  const bool is_x86 = !host.cpu_flags.empty();
  if (is_x86 && !host.cpu_flags.contains("avx2")) {
    findings.front().verdict = Verdict::kWarning;
    findings.front().expected = "avx2 or better: without it training is many times slower";
    findings.front().remedy = "use nodes with AVX2, or let the virtual machine show the host's CPU";
  }
  if (needs.wants_bf16 && is_x86) {
    const bool has = host.cpu_flags.contains("avx512_bf16") || host.cpu_flags.contains("amx_bf16");
    findings.push_back({"cpu.bf16",
                        has ? Verdict::kOk : Verdict::kWarning,
                        "",
                        has ? "in hardware" : "neither avx512_bf16 nor amx_bf16",
                        "hardware bfloat16 for training.precision bf16",
                        has ? "" : "--set training.precision=f32",
                        {}});
  }
  return findings;
}

Findings judge_system(const HostFacts& host) {
  Findings findings;
  if (host.governor.empty()) {
    findings.push_back(not_known("cpu.governor", "/sys has no cpufreq (as in virtual machines)"));
  } else {
    const bool slow = host.governor == "powersave" || host.governor == "conservative";
    findings.push_back({"cpu.governor",
                        slow ? Verdict::kNote : Verdict::kOk,
                        "",
                        host.governor,
                        slow ? "performance" : "",
                        slow ? "as root: cpupower frequency-set -g performance" : "",
                        {}});
  }
  if (!host.smt) {
    findings.push_back(not_known("cpu.smt", "/sys has no cpu/smt/active"));
  } else {
    findings.push_back({"cpu.smt",
                        *host.smt ? Verdict::kNote : Verdict::kOk,
                        "",
                        *host.smt ? "on" : "off",
                        *host.smt ? "one thread a core" : "",
                        *host.smt ? "give ranks cores: mpirun --bind-to core, or srun "
                                    "--hint=nomultithread"
                                  : "",
                        {}});
  }
  if (host.huge_pages.empty()) {
    findings.push_back(not_known("memory.huge_pages", "/sys has no transparent_hugepage"));
  } else {
    const bool never = host.huge_pages == "never";
    findings.push_back({"memory.huge_pages",
                        never ? Verdict::kNote : Verdict::kOk,
                        "",
                        host.huge_pages,
                        never ? "madvise or always" : "",
                        never ? "as root: echo madvise > "
                                "/sys/kernel/mm/transparent_hugepage/enabled"
                              : "",
                        {}});
  }
  return findings;
}

Findings judge_clock(const HostFacts& host) {
  constexpr double kSlowNs = 500.0;
  const bool slow = host.clock_read_ns > kSlowNs;
  Findings findings = {{"clock.source", slow ? Verdict::kWarning : Verdict::kOk, "",
                        fmt::format("{:.0f} ns a look{}{}", host.clock_read_ns,
                                    host.clock_source.empty() ? "" : ", ", host.clock_source),
                        slow ? fmt::format("at most {} ns: telemetry looks often", kSlowNs) : "",
                        slow ? "as root: echo tsc > "
                               "/sys/devices/system/clocksource/clocksource0/current_clocksource"
                             : "",
                        host.clock_read_ns}};
  if (!host.clock_synchronized) {
    findings.push_back(not_known("clock.synchronized", "adjtimex is refused"));
  } else {
    const bool ok = *host.clock_synchronized;
    findings.push_back({"clock.synchronized",
                        ok ? Verdict::kOk : Verdict::kNote,
                        "",
                        ok ? "yes" : "no",
                        ok ? "" : "a time server: logs carry calendar time",
                        ok ? "" : "start chronyd, or ntpd, on this machine",
                        {}});
  }
  return findings;
}

Findings judge_caches(const HostFacts& host, const Needs& needs) {
  Findings findings;
  const bool wanted = needs.clear_caches != "never";
  const bool missing = wanted && !host.can_drop_caches;
  // A run then advises the data's own files out.
  const bool required = needs.clear_caches == "required" && !host.advice_works.value_or(false);
  const Verdict verdict = !missing ? Verdict::kOk : required ? Verdict::kError : Verdict::kNote;
  findings.push_back({"cache.drop",
                      verdict,
                      "",
                      host.can_drop_caches ? "/proc/sys/vm/drop_caches may be written"
                                           : "/proc/sys/vm/drop_caches may not be written",
                      missing ? "writable, for /clear_caches " + needs.clear_caches : "",
                      missing ? "run as root, or have the data's own files dropped, which can be "
                                "proved of files that you own or may write; or --set "
                                "clear_caches=never (a submission needs cold caches)"
                              : "",
                      {}});
  if (!host.advice_works) {
    findings.push_back(not_known("cache.advice", "no file in /var/tmp shows it"));
  } else {
    const bool ok = *host.advice_works;
    findings.push_back({"cache.advice",
                        ok ? Verdict::kOk : Verdict::kNote,
                        "",
                        ok ? "a file left the page cache" : "a file stayed in the page cache",
                        ok ? "" : "it leaves, so that the disk is measured",
                        ok ? "" : "judge disk rates of /var/tmp with care",
                        {}});
  }
  return findings;
}

}  // namespace

Findings judge_machine(const HostFacts& host, const Needs& needs) {
  Findings findings = judge_cpu(host, needs);
  for (const Findings& more : {judge_system(host), judge_clock(host), judge_caches(host, needs)}) {
    findings.insert(findings.end(), more.begin(), more.end());
  }
  if (host.host.empty() || host.host == "localhost" || host.host == "unknown") {
    findings.push_back({"host.name",
                        Verdict::kWarning,
                        "",
                        host.host,
                        "a name of its own",
                        "as root: hostnamectl set-hostname NAME",
                        {}});
  }
  return findings;
}

Finding judge_busy(const std::vector<BusyProcess>& busy, std::int64_t cpus) {
  constexpr std::size_t kNamed = 3;
  constexpr double kMuch = 0.05;  // fraction of the CPUs
  const double used =
      std::accumulate(busy.begin(), busy.end(), 0.0,
                      [](double sum, const BusyProcess& process) { return sum + process.cpus; });
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, busy.size()); ++i) {
    names += fmt::format("{}{} (process {}, user {}): {:.1f}", i == 0 ? ": " : ", ", busy[i].name,
                         busy[i].process, busy[i].user, busy[i].cpus);
  }
  if (busy.size() > kNamed) names += fmt::format(", and {} more", busy.size() - kNamed);
  const bool much = used > kMuch * static_cast<double>(cpus);
  return {"cpu.busy",
          much ? Verdict::kWarning : Verdict::kOk,
          "",
          fmt::format("{:.1f} of {} CPUs used by others{}", used, cpus, names),
          much ? "none: they take CPUs from ranks" : "",
          much ? "ask for whole nodes (Slurm: --exclusive), or end these processes" : "",
          used};
}

}  // namespace doctor

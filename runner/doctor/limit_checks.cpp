// Verdicts on memory and limits of processes.
#include <fmt/format.h>

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "runner/base/printable.h"
#include "runner/doctor/host_checks.h"
#include "runner/documents.h"

namespace doctor {
namespace {

using runner::bytes_text;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

std::string text_of(const Limit& limit) { return limit ? bytes_text(*limit) : "unlimited"; }

std::optional<double> as_value(const Limit& limit) {
  if (!limit) return {};
  return static_cast<double>(*limit);
}

Finding judge_available(const HostFacts& host, const Needs& needs) {
  constexpr double kNearly = 0.9;
  Limit available = host.memory_available;
  std::string by = "MemAvailable";
  if (const auto left = host.cgroup.memory_left_bytes; left && (!available || *left < *available)) {
    available = left;
    by = "what the control group's limit leaves";
  }
  if (!available) {
    return {"memory.available",
            Verdict::kNotKnown,
            "",
            "/proc/meminfo has no MemAvailable",
            "",
            "",
            {}};
  }
  Finding finding =
      ok_finding("memory.available", fmt::format("{} ({})", bytes_text(*available), by),
                 static_cast<double>(*available));
  if (!needs.has_configuration) return finding;
  finding.expected = fmt::format("{} for {} on this node", bytes_text(needs.node_bytes),
                                 base::counted(needs.node_ranks, "rank"));
  if (needs.node_bytes > *available) {
    finding.verdict = Verdict::kError;
    finding.remedy =
        host.cgroup.memory_left_bytes == available
            ? "ask the scheduler for more memory (Slurm: --mem=0), or use more nodes, fewer ranks "
              "on a node, or a smaller batch"
            : "use more nodes, fewer ranks on a node, or a smaller batch";
  } else if (static_cast<double>(needs.node_bytes) > kNearly * static_cast<double>(*available)) {
    finding.verdict = Verdict::kWarning;
    finding.remedy =
        "leave memory for files and images that are decoded: use fewer ranks on a node";
  }
  return finding;
}

Finding judge_shm(const HostFacts& host, const Needs& needs) {
  if (!host.shm_free) {
    return {"memory.shm",
            needs.shared_bytes > 0 ? Verdict::kWarning : Verdict::kNote,
            "",
            "there is no /dev/shm",
            "a tmpfs, in which the ranks of a node share memory",
            "as root: mount -t tmpfs -o size=50% shm /dev/shm",
            {}};
  }
  Finding finding = ok_finding("memory.shm",
                               fmt::format("{} free of {}", bytes_text(*host.shm_free),
                                           bytes_text(host.shm_total.value_or(*host.shm_free))),
                               static_cast<double>(*host.shm_free));
  finding.expected =
      needs.shared_bytes > 0
          ? fmt::format("{} that {} ranks share", bytes_text(needs.shared_bytes), needs.node_ranks)
          : "";
  if (*host.shm_free >= needs.shared_bytes) return finding;
  finding.verdict = Verdict::kError;
  const std::int64_t wanted = needs.shared_bytes + host.shm_total.value_or(0) - *host.shm_free;
  finding.remedy = fmt::format(
      "as root: mount -o remount,size={}m /dev/shm (a container: --shm-size), or export "
      "OMPI_MCA_osc_sm_backing_directory=FOLDER on a local disk",
      base::ceil_div(wanted, kMebibyte));
  return finding;
}

/// Gives `verdict` if the limit is below `least`.
Finding at_least(const char* id, const Limit& limit, std::int64_t least, Verdict verdict,
                 const std::string& shown, const std::string& why, const std::string& remedy) {
  Finding finding = ok_finding(id, shown, as_value(limit));
  if (!limit || *limit >= least) return finding;
  finding.verdict = verdict;
  finding.expected = why;
  finding.remedy = remedy;
  return finding;
}

Finding judge_processes(const HostFacts& host, const Needs& needs) {
  // Threads of a rank besides its compute threads: MPI's, the prefetcher's, the watchdog's.
  constexpr std::int64_t kHelpers = 8;
  const std::int64_t wanted = needs.node_ranks * (needs.threads + kHelpers);
  Limit left = host.cgroup.processes_left;
  std::string by = "pids.max of the control group";
  if (host.limits.processes) {
    const std::int64_t rest = *host.limits.processes - host.user_processes.value_or(0);
    if (!left || rest < *left) {
      left = rest;
      by = "ulimit -u";
    }
  }
  return at_least("limit.processes", left, wanted, Verdict::kError,
                  left ? fmt::format("{} left of {}", *left, by) : "unlimited",
                  fmt::format("{} threads of {} ranks", wanted, needs.node_ranks),
                  by == "ulimit -u" ? "ulimit -u unlimited, or a higher nproc in "
                                      "/etc/security/limits.conf"
                                    : "let the scheduler raise pids.max");
}

}  // namespace

Findings judge_memory(const HostFacts& host, const Needs& needs) {
  return {judge_available(host, needs), judge_shm(host, needs)};
}

Findings judge_limits(const HostFacts& host, const Needs& needs) {
  const Limits& limits = host.limits;
  // At worst a socket to each other rank, and files.
  constexpr std::int64_t kFiles = 256;
  constexpr std::int64_t kLeastStack = std::int64_t{1} << 20;
  const std::int64_t sockets = 2 * needs.ranks;
  Findings findings = {
      at_least(
          "limit.open_files", limits.open_files, kFiles + sockets, Verdict::kWarning,
          limits.open_files ? std::to_string(*limits.open_files) : "unlimited",
          fmt::format("{}: files, and sockets between {} ranks", kFiles + sockets, needs.ranks),
          fmt::format("ulimit -n {}", std::max<std::int64_t>(4096, kFiles + sockets))),
      judge_processes(host, needs),
      at_least("limit.file_size", limits.file_size,
               std::max<std::int64_t>(needs.file_bytes, 1 << 26), Verdict::kError,
               text_of(limits.file_size), "room for weights and checkpoints",
               "ulimit -f unlimited"),
      at_least(
          "limit.address_space", limits.address_space, needs.rank_bytes, Verdict::kError,
          text_of(limits.address_space),
          fmt::format("{} of a rank, beside programs and libraries", bytes_text(needs.rank_bytes)),
          "ulimit -v unlimited"),
      at_least("limit.stack", limits.stack, kLeastStack, Verdict::kWarning, text_of(limits.stack),
               bytes_text(kLeastStack), "ulimit -s 8192")};
  if (host.has_infiniband) {
    constexpr std::int64_t kRegistered = std::int64_t{1} << 30;
    findings.push_back(at_least("limit.locked_memory", limits.locked_memory, kRegistered,
                                Verdict::kWarning, text_of(limits.locked_memory),
                                "unlimited: InfiniBand registers what it sends",
                                "ulimit -l unlimited, or memlock in /etc/security/limits.conf"));
  }
  if (limits.cpu_time) {
    findings.push_back({"limit.cpu_time", Verdict::kWarning, "",
                        fmt::format("{} s", *limits.cpu_time), "unlimited",
                        "ulimit -t unlimited; login nodes limit it: run on compute nodes",
                        as_value(limits.cpu_time)});
  }
  const bool dumps = !limits.core || *limits.core > 0;
  findings.push_back({"limit.core",
                      dumps ? Verdict::kNote : Verdict::kOk,
                      "",
                      limits.core ? bytes_text(*limits.core) : "unlimited",
                      dumps ? "0: a crash writes as much as all ranks have of memory" : "",
                      dumps ? "ulimit -c 0" : "",
                      {}});
  return findings;
}

}  // namespace doctor

// The catalogue of checks, and findings as JSON.
#include "runner/doctor/finding.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace doctor {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

constexpr std::array kVerdictNames = {"ok", "not known", "note", "warning", "error"};

constexpr auto kData = ExitCode::kData;
constexpr auto kSystem = ExitCode::kSystem;
constexpr auto kUsage = ExitCode::kUsage;

constexpr auto kCatalogue = std::to_array<CatalogueEntry>({
    {"cpu.instruction_set", "", "strongest instruction set that this program's kernels may use",
     kSystem},
    {"cpu.library_limit", "", "variables that keep oneDNN from instructions that the CPU has",
     kSystem},
    {"cpu.library", "", "whether oneDNN can be trusted on this CPU", kSystem},
    {"cpu.bf16", "", "CPU support for the bfloat16 arithmetic that a configuration asks for",
     kSystem},
    {"cpu.governor", "", "frequency governor of the first CPU", kSystem},
    {"cpu.smt", "", "whether cores run several hardware threads", kSystem},
    {"cpu.busy", "CPUs",
     "CPU time per second that processes outside of this job use, from two looks at /proc",
     kSystem},
    {"memory.available", "bytes",
     "MemAvailable, cut by what the control group's limit leaves; expected: what the "
     "configuration's ranks of a node need (`trainmark config CONFIG --memory`)",
     kUsage},
    {"config.ranks", "", "whether this number of ranks and this CPU can train it", kUsage},
    {"memory.huge_pages", "", "transparent huge pages", kSystem},
    {"memory.shm", "bytes",
     "free bytes of /dev/shm; expected: what Open MPI and the configuration's ranks of a node "
     "share",
     kSystem},
    {"limit.open_files", "files", "ulimit -n", kSystem},
    {"limit.processes", "threads", "ulimit -u, and what the control group's pids.max leaves",
     kSystem},
    {"limit.locked_memory", "bytes", "ulimit -l, which InfiniBand needs", kSystem},
    {"limit.file_size", "bytes", "ulimit -f, against the largest file of a run", kSystem},
    {"limit.address_space", "bytes", "ulimit -v, against what a rank needs", kSystem},
    {"limit.cpu_time", "s", "ulimit -t, after which the system ends a process", kSystem},
    {"limit.stack", "bytes", "ulimit -s", kSystem},
    {"limit.core", "", "ulimit -c", kSystem},
    {"clock.source", "ns", "the kernel's clock source, and what one look at the clock costs",
     kSystem},
    {"clock.synchronized", "", "whether the kernel's calendar clock follows a time server",
     kSystem},
    {"clock.offset", "s", "calendar clocks of nodes against rank 0's", kSystem},
    {"host.name", "", "host names, which tell nodes apart in logs", kSystem},
    {"cache.drop", "", "whether page caches can be dropped before a run (/clear_caches)", kSystem},
    {"cache.advice", "",
     "whether posix_fadvise takes a clean file out of the page cache, seen by mincore", kSystem},
    {"folder.dataset", "", "a path of the dataset can be read", kData},
    {"folder.write", "", "a file can be made, written, synced, renamed and removed there", kSystem},
    {"folder.space", "bytes", "free bytes for users, and free inodes", kSystem},
    {"folder.locks", "", "O_EXCL refuses a second creation, fcntl locks keep a process out",
     kSystem},
    {"folder.shared", "s", "seconds until other nodes see a file that rank 0 wrote", kSystem},
    {"folder.leftovers", "", "files of processes of this user that no longer live", kSystem},
    {"launch.pmi", "", "whether the launcher tells MPI of the other ranks", kSystem},
    {"launch.srun", "", "whether srun --mpi=pmix can start ranks", kSystem},
    {"launch.nodes", "", "nodes with ranks, against those that the scheduler gave", kSystem},
    {"launch.cpus", "CPUs",
     "CPUs that the ranks of a node may use, against those that the scheduler or the node has",
     kSystem},
    {"launch.threads", "", "threads of all ranks of a node, against its CPUs", kSystem},
    {"launch.openmp", "", "OpenMP's variables, against the threads of a rank", kUsage},
    {"mpi.start", "s", "time of MPI_Init_thread", kSystem},
    {"mpi.answer", "", "whether all ranks took part in the checks that need them", kSystem},
    {"mpi.ring", "bytes/s",
     "every node sends to its right neighbour and receives from its left one at the same time: "
     "bytes that a node sends per second",
     kSystem},
    {"mpi.allreduce", "s", "MPI_Allreduce of floats over all ranks, checked against the exact sum",
     kSystem},
    {"rate.latency", "s",
     "half the round trip of 8 bytes between the first ranks of neighbouring nodes, median of 50",
     kSystem},
    {"rate.network", "bytes/s",
     "message size by half its round trip between the first ranks of neighbouring nodes, best of "
     "3; "
     "a node's rate is the better one of its two neighbours",
     kSystem},
    {"rate.memory", "bytes/s",
     "triad a[i] = b[i] + 3 c[i] of doubles by all threads of all ranks of a node at once, 24 "
     "bytes an element, best of 5",
     kSystem},
    {"rate.compute", "flop/s",
     "multiply-adds of doubles in registers by all threads of all ranks of a node at once, best "
     "of 5; for comparing nodes, not their peak",
     kSystem},
    {"rate.disk_write", "bytes/s", "a file in the node's scratch folder, written and synced",
     kSystem},
    {"rate.disk_read", "bytes/s", "the same file, read back past the page cache", kSystem},
    {"nodes.alike", "", "build, libraries, CPU, memory and system of all nodes", kSystem},
});

}  // namespace

Finding make_finding(const char* id, Verdict verdict, const std::string& subject,
                     std::string measured, std::string expected, std::string remedy,
                     std::optional<double> value) {
  return {id, verdict, subject, std::move(measured), std::move(expected), std::move(remedy), value};
}

Finding ok_finding(const char* id, std::string measured, std::optional<double> value) {
  return {id, Verdict::kOk, "", std::move(measured), "", "", value};
}

void append(Findings& to, const Findings& more) { to.insert(to.end(), more.begin(), more.end()); }

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

const CatalogueEntry& catalogue_entry(const std::string& id) {
  const auto found = std::ranges::find(kCatalogue, id, &CatalogueEntry::id);
  if (found == kCatalogue.end()) {
    throw base::Error(ExitCode::kInternal, "doctor: no check is called '" + id + "'");
  }
  return *found;
}

base::ExitCode exit_code(const Findings& findings) {
  ExitCode worst = ExitCode::kSuccess;
  for (const Finding& finding : findings) {
    if (finding.verdict != Verdict::kError) continue;
    worst = std::max(worst, catalogue_entry(finding.id).error_code);
  }
  return worst;
}

std::string to_string(Verdict verdict) {
  return kVerdictNames.at(static_cast<std::size_t>(verdict));
}

Json to_json(const Finding& finding) {
  const CatalogueEntry& entry = catalogue_entry(finding.id);
  Json object = {{"id", finding.id},
                 {"verdict", to_string(finding.verdict)},
                 {"subject", finding.subject},
                 {"measured", finding.measured},
                 {"expected", finding.expected},
                 {"remedy", finding.remedy},
                 {"value", finding.value ? Json(*finding.value) : Json()}};
  object["unit"] = *entry.unit == '\0' ? Json() : Json(entry.unit);
  return object;
}

Finding finding_from(const Json& object) {
  const auto text = [&](const char* key) { return object.at(key).get<std::string>(); };
  const auto place = std::ranges::find(kVerdictNames, text("verdict")) - kVerdictNames.begin();
  Finding finding{text("id"),
                  static_cast<Verdict>(place),
                  text("subject"),
                  text("measured"),
                  text("expected"),
                  text("remedy"),
                  {}};
  if (!object.at("value").is_null()) finding.value = object.at("value").get<double>();
  return finding;
}

Json catalogue_json() {
  Json all = Json::object();
  for (const CatalogueEntry& entry : kCatalogue) {
    all[entry.id] = {{"unit", *entry.unit == '\0' ? Json() : Json(entry.unit)},
                     {"definition", entry.definition}};
  }
  return all;
}

}  // namespace doctor

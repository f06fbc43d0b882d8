// Reads facts about the machine from /proc and /sys.
#include "runner/base/machine_files.h"

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "runner/base/fact_files.h"

namespace base {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// How many numbers a list such as "0-3,8" contains; 0 if it is malformed.
std::int64_t listed(const std::optional<std::string>& line) {
  std::int64_t count = 0;
  std::istringstream parts(line.value_or(""));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = leading_integer(part);
    const auto last = dash == std::string::npos ? first : leading_integer(part.substr(dash + 1));
    if (!first || !last || *last < *first) return 0;
    count += *last - *first + 1;
  }
  return count;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json count_or_null(std::size_t count) { return count == 0 ? Json() : Json(count); }

/// The numbers of sockets, cores and logical CPUs online; virtual machines may hide the first two.
void add_topology(const fs::path& root, Json& facts) {
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  std::size_t logical = 0;
  for (const fs::path& cpu : numbered(root / "sys/devices/system/cpu", "cpu")) {
    const auto package = leading_integer(first_line(cpu / "topology/physical_package_id"));
    const auto core = leading_integer(first_line(cpu / "topology/core_id"));
    if (!package || !core) continue;  // offline CPUs have no topology
    ++logical;
    if (*package < 0) continue;
    sockets.insert(*package);
    cores.emplace(*package, *core);
  }
  facts["sockets"] = count_or_null(sockets.size());
  facts["cores"] = count_or_null(cores.size());
  facts["logical_cpus"] = count_or_null(logical);
  facts["numa_nodes"] = count_or_null(numbered(root / "sys/devices/system/node", "node").size());
}

/// "always [madvise] never" -> "madvise".
Json chosen_word(const std::optional<std::string>& line) {
  if (!line) return nullptr;
  const std::size_t open = line->find('['), close = line->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return nullptr;
  return line->substr(open + 1, close - open - 1);
}

}  // namespace

std::optional<std::int64_t> status_kib(const fs::path& root, const std::string& name) {
  return leading_integer(field(root / "proc/self/status", name, ':'));
}

std::int64_t cache_bytes(const fs::path& root, int level, int threads) {
  std::int64_t sum = 0;
  for (const fs::path& cache : numbered(root / "sys/devices/system/cpu/cpu0/cache", "index")) {
    const auto found = leading_integer(first_line(cache / "level"));
    if (found != level || first_line(cache / "type") == "Instruction") continue;
    const auto kib = leading_integer(first_line(cache / "size"));
    const auto sharers = listed(first_line(cache / "shared_cpu_list"));
    if (!kib || sharers == 0) continue;
    sum += *kib * 1024 / sharers * threads;
  }
  return sum;
}

Json machine_file_facts(const fs::path& root) {
  Json facts;
  facts["cpu_model"] = or_null(field(root / "proc/cpuinfo", "model name", ':'));
  add_topology(root, facts);
  const auto memory_kib = leading_integer(field(root / "proc/meminfo", "MemTotal", ':'));
  facts["memory_bytes"] = memory_kib ? Json(*memory_kib * 1024) : Json();
  facts["transparent_huge_pages"] =
      chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts["governor"] =
      or_null(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  facts["operating_system"] = or_null(field(root / "etc/os-release", "PRETTY_NAME", '='));
  return facts;
}

}  // namespace base

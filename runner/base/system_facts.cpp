// Collects facts about the machine. A fact that cannot be read is null.
#include "runner/base/system_facts.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "runner/base/cgroup.h"
#include "runner/base/environment_facts.h"
#include "runner/base/machine_files.h"
#include "runner/base/usable_cpus.h"

namespace base {

namespace {

using Json = nlohmann::json;

Json cgroup_facts(const CgroupLimits& limits) {
  return {{"cpu_quota", limits.cpus ? Json(*limits.cpus) : Json()},
          {"memory_limit_bytes", limits.memory_bytes ? Json(*limits.memory_bytes) : Json()}};
}

Json kernel() {
  utsname names{};
  if (uname(&names) != 0) return nullptr;
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

}  // namespace

int usable_cpus() {
  int cpus = static_cast<int>(process_cpus().size());
  if (cpus == 0) cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cut_by_quota(cpus, cgroup_limits("/"));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

Json machine_facts() {
  Json facts = machine_file_facts("/");
  const std::vector<int> affinity = process_cpus();
  facts[kAffinityKey] = affinity.empty() ? Json() : Json(cpu_ranges(affinity));
  facts[kUsableCpusKey] = usable_cpus();
  facts["cgroup"] = cgroup_facts(cgroup_limits("/"));
  facts["kernel"] = kernel();
  facts[kHostKey] = host_name();
  facts["instruction_set"] = to_string(usable_instruction_set());
  facts[kEnvironmentKey] = environment_facts(environ);
  return facts;
}

std::int64_t peak_rss_bytes() {
  if (const auto kib = status_kib("/", "VmHWM")) return *kib * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

double process_age_s() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  // The second field, the process name, may hold blanks and brackets. Field 22 is the start time
  // since boot.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0.0;
  constexpr int kAfterName = 22 - 2;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < kAfterName; ++i) fields >> field;
  std::int64_t ticks = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), ticks);
  timespec now{};
  if (error != std::errc() || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0.0;
  const double started = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 - started;
}

}  // namespace base

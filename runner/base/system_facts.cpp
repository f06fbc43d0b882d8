// Reads what machine this is.
// Hides /proc, /sys and uname; a fact that cannot be read is null, never invented.
#include "runner/base/system_facts.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

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

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

Json machine_facts() {
  Json facts = machine_file_facts("/");
  const std::vector<int> affinity = affinity_cpus();
  facts["affinity"] = affinity.empty() ? Json() : Json(cpu_ranges(affinity));
  facts["usable_cpus"] = usable_cpus();
  facts["cgroup"] = cgroup_facts(cgroup_limits("/"));
  facts["kernel"] = kernel();
  facts["host"] = host_name();
  facts["instruction_set"] = to_string(usable_instruction_set());
  facts["environment"] = environment_facts(environ);
  return facts;
}

std::int64_t peak_rss_bytes() {
  if (const auto kib = status_kib("/", "VmHWM")) return *kib * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace base

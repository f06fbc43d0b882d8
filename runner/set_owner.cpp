// Identity of processes.
// Hides /proc, and the environment variables of schedulers.
#include "runner/set_owner.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "runner/base/exclusive_file.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"

namespace runner {
namespace {

/// Field 22 of /proc/<process>/stat; the name before may hold anything, so count from its end.
/// Nothing for a zombie: it is dead, though its parent, or a container's first process, may never
/// take note of that.
std::optional<std::uint64_t> start_of(std::int64_t process) {
  constexpr int kFieldsBetween = 18;
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  std::uint64_t start = 0;
  if (!(fields >> start)) return std::nullopt;
  return start;
}

std::string kernel_here() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (!(in >> boot) || error) return "";
  return boot + " " + space.string();
}

std::string job_here() {
  struct Variable {
    const char* scheduler;
    const char* job;
    const char* index;  ///< in an array; null where the job's name has it
  };
  constexpr Variable kVariables[] = {{"slurm", "SLURM_JOB_ID", nullptr},
                                     {"pbs", "PBS_JOBID", nullptr},
                                     {"lsf", "LSB_JOBID", "LSB_JOBINDEX"},
                                     {"flux", "FLUX_JOB_ID", nullptr}};
  for (const Variable& variable : kVariables) {
    const char* job = std::getenv(variable.job);
    if (job == nullptr || *job == '\0') continue;
    const char* index = variable.index == nullptr ? nullptr : std::getenv(variable.index);
    const bool in_array = index != nullptr && std::string(index) != "0";
    return fmt::format("{} {}{}", variable.scheduler, base::printable(job),
                       in_array ? fmt::format("[{}]", base::printable(index)) : "");
  }
  return "";
}

}  // namespace

SetOwner this_process() {
  SetOwner owner;
  owner.host = base::host_name();
  owner.process = ::getpid();
  owner.process_start = start_of(owner.process).value_or(0);
  owner.kernel = kernel_here();
  owner.job = job_here();
  owner.token = base::unique_token();
  return owner;
}

nlohmann::json to_json(const SetOwner& owner) {
  return {
      {"host", owner.host},     {"process", owner.process}, {"process_start", owner.process_start},
      {"kernel", owner.kernel}, {"job", owner.job},         {"token", owner.token}};
}

SetOwner parse_owner(const base::ObjectReader& in) {
  SetOwner owner;
  owner.host = in.required<std::string>("host", "its name");
  owner.process = in.required<std::int64_t>("process", "its number", base::at_least(1));
  owner.process_start = in.required<std::uint64_t>("process_start", "ticks since the boot");
  owner.kernel = in.required<std::string>("kernel", "boot and process namespace");
  owner.job = in.required<std::string>("job", "scheduler and number");
  owner.token = in.required<std::string>("token", "unique text", base::not_empty());
  return owner;
}

Life life_from_here(const SetOwner& owner) {
  if (owner.kernel.empty() || owner.kernel != kernel_here()) return Life::kUnknown;
  if (::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH) return Life::kDead;
  const auto start = start_of(owner.process);
  if (!start) return Life::kDead;
  return owner.process_start == 0 || *start == owner.process_start ? Life::kAlive : Life::kDead;
}

std::string to_text(const SetOwner& owner) {
  return fmt::format("process {} on {}{}", owner.process, base::printable(owner.host),
                     owner.job.empty() ? "" : " (" + base::printable(owner.job) + ")");
}

}  // namespace runner

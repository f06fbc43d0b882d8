// Identity of processes.
#include "runner/set_owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/exclusive_file.h"
#include "runner/base/printable.h"
#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"
#include "runner/launch/launcher.h"

namespace runner {
namespace {

std::string kernel_here() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (!(in >> boot) || error) return "";
  return boot + " " + space.string();
}

}  // namespace

SetOwner this_process() {
  SetOwner owner;
  owner.host = base::host_name();
  owner.process = ::getpid();
  if (const auto own = base::process_state(owner.process)) owner.process_start = own->start_ticks;
  owner.kernel = kernel_here();
  owner.job = launch::job_text(launch::allocation_of(launch::environment()));
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
  if (!base::is_alive(owner.process)) return Life::kDead;
  const auto found = base::process_state(owner.process);
  // The number may have been reused by another process.
  const bool is_same =
      !found || owner.process_start == 0 || found->start_ticks == owner.process_start;
  return is_same ? Life::kAlive : Life::kDead;
}

std::string to_text(const SetOwner& owner) {
  return fmt::format("process {} on {}{}", owner.process, base::printable(owner.host),
                     owner.job.empty() ? "" : " (" + base::printable(owner.job) + ")");
}

}  // namespace runner

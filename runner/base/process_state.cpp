// Reads /proc/<process>/stat, whose second field may contain any characters.
#include "runner/base/process_state.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace base {
namespace {

double since_boot_s() {
  constexpr double kSPerNs = 1e-9;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kSPerNs;
}

std::string kernel_here() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (!(in >> boot) || error) return "";
  return boot + " " + space.string();
}

}  // namespace

std::optional<ProcessState> process_state(std::int64_t process) {
  constexpr int kFieldsBetween = 17;  // from the parent, field 4, to the start, field 22
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState found;
  std::string skipped;
  fields >> found.state >> found.parent;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  if (!(fields >> found.start_ticks)) return std::nullopt;
  const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  found.age_s = since_boot_s() - static_cast<double>(found.start_ticks) / ticks_per_s;
  return found;
}

bool is_alive(std::int64_t process) {
  if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return false;
  // /proc may hide other users' processes: then we only know that the process exists.
  const auto found = process_state(process);
  return !found || (found->state != 'Z' && found->state != 'X');
}

ProcessIdentity this_process_identity() {
  ProcessIdentity own;
  own.number = ::getpid();
  if (const auto state = process_state(own.number)) own.start_ticks = state->start_ticks;
  own.kernel = kernel_here();
  return own;
}

std::optional<bool> is_on_this_kernel(const ProcessIdentity& process) {
  const auto boot_of = [](const std::string& kernel) { return kernel.substr(0, kernel.find(' ')); };
  const std::string here = kernel_here();
  if (process.kernel.empty() || here.empty()) return std::nullopt;
  return boot_of(process.kernel) == boot_of(here);
}

Life life_from_here(const ProcessIdentity& process) {
  if (process.kernel.empty() || process.kernel != kernel_here()) return Life::kUnknown;
  if (!is_alive(process.number)) return Life::kDead;
  const auto found = process_state(process.number);
  // The number may have been reused by another process.
  const bool is_same =
      !found || process.start_ticks == 0 || found->start_ticks == process.start_ticks;
  return is_same ? Life::kAlive : Life::kDead;
}

}  // namespace base

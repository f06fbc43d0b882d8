// Who the parent is, and a small process that outlives this one. After the fork it makes only
// system calls, as required in a process with threads.
#include "runner/launcher_end.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <span>

namespace runner {
namespace {

/// As in /proc/<process>/comm: at most fifteen characters.
using Name = std::array<char, 16>;

/// Time for mpirun to exit by itself; if all nodes answer, it needs less than a second.
constexpr int kByItselfMs = 4000, kLookEveryMs = 100;
constexpr std::array kLaunchers = {"mpirun", "orterun", "mpiexec", "prterun"};
constexpr std::array kDaemons = {"orted", "prted"};

using Path = std::array<char, 32>;
Path comm_of(pid_t process) {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/comm", static_cast<int>(process));
  return path;
}

Name name_at(const Path& path) {
  Name name{};
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return name;
  const ssize_t size = ::read(file, name.data(), name.size() - 1);
  ::close(file);
  if (size > 0 && name[static_cast<std::size_t>(size) - 1] == '\n') {
    name[static_cast<std::size_t>(size) - 1] = '\0';
  }
  return name;
}

bool is_one_of(const Name& name, std::span<const char* const> names) {
  return std::ranges::any_of(names,
                             [&](const char* one) { return std::strcmp(one, name.data()) == 0; });
}

/// Whether the process is gone within `time_ms`. A zombie still has a name; killing it is harmless.
bool ends_within(pid_t process, const Path& path, const Name& name, int time_ms) {
  for (int passed = 0; passed < time_ms; passed += kLookEveryMs) {
    if (::kill(process, 0) != 0 || name_at(path) != name) return true;
    const timespec pause{0, kLookEveryMs * 1'000'000L};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

/// Runs in the process that stays.
[[noreturn]] void wait_and_end(pid_t launcher, const Path& path, const Name& name,
                               int descriptors) {
  // The launcher waits until its ranks' output pipes are closed, so close them here.
  for (int i = 0; i < descriptors; ++i) ::close(i);
  // Not SIGTERM: Open MPI 4.1 crashes on it if it is already aborting.
  if (!ends_within(launcher, path, name, kByItselfMs)) ::kill(launcher, SIGKILL);
  ::_exit(0);
}

}  // namespace

pid_t parent_launcher() noexcept {
  const pid_t parent = ::getppid();
  const Name name = name_at(comm_of(parent));
  return is_one_of(name, kLaunchers) || is_one_of(name, kDaemons) ? parent : 0;
}

void kill_launcher_if_it_hangs() noexcept {
  const pid_t launcher = ::getppid();
  const Path path = comm_of(launcher);
  const Name name = name_at(path);
  if (!is_one_of(name, kLaunchers)) return;
  const auto descriptors = static_cast<int>(std::clamp(::sysconf(_SC_OPEN_MAX), 256L, 65536L));
  const pid_t between = ::fork();
  if (between == 0) {
    // A new session, out of reach of signals to the ranks' process group.
    ::setsid();
    if (::fork() == 0) wait_and_end(launcher, path, name, descriptors);
    ::_exit(0);
  }
  if (between > 0) ::waitpid(between, nullptr, 0);
}

}  // namespace runner

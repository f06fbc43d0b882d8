// Starts programs from a shell, alone or under the launcher, and reports how they ended. MPIEXEC is
// the launcher's path, MPIEXEC_OPTIONS what lets ranks share processors, MPIEXEC_RANK the variable
// that holds a rank's number.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/content.h"

namespace outside {

namespace fs = std::filesystem;

using base::content;

struct Ended {
  int status = -1;  ///< exit code; -1 when a signal ended it
  double seconds = 0.0;
  std::string out, err;
};

/// A running program.
struct Started {
  pid_t process = 0;
  std::chrono::steady_clock::time_point began;
  fs::path folder;
};

/// Starts a shell command whose output goes to files in `folder`.
inline Started start(const std::string& command, const fs::path& folder) {
  const std::string line =
      command + " >" + (folder / "out").string() + " 2>" + (folder / "err").string();
  const auto began = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  return {child, began, folder};
}

inline Ended wait(const Started& program) {
  int status = 0;
  if (::waitpid(program.process, &status, 0) != program.process) {
    throw std::runtime_error("waitpid failed");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - program.began;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, took.count(),
          content(program.folder / "out"), content(program.folder / "err")};
}

inline Ended shell(const std::string& command, const fs::path& folder) {
  return wait(start(command, folder));
}

/// The command prefix that runs a program on `ranks` ranks, ending with a blank.
inline std::string mpirun(int ranks, const std::string& options = "") {
  const std::string allow =
      ::getuid() == 0 ? "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
  return allow + MPIEXEC " " MPIEXEC_OPTIONS " -n " + std::to_string(ranks) + " " + options +
         (options.empty() ? "" : " ");
}

/// Whether the launcher is MPICH's.
constexpr bool kIsHydra = std::string_view(MPIEXEC_RANK) == "PMI_RANK";

/// The launcher's exit code where SIGKILL ended a rank.
constexpr int kKilledStatus = kIsHydra ? 9 : 137;
/// Whether the launcher sends SIGTERM to the other ranks before it kills them.
constexpr bool kWarnsRanks = !kIsHydra;

/// The launcher's options for one rank on each of the hosts of hosts.sh.
inline std::string on_hosts(int hosts) {
  std::string names = "--host ";
  for (int host = 1; host <= hosts; ++host) {
    names += (host > 1 ? ",host" : "host") + std::to_string(host) + ":1";
  }
  return names + " --map-by node";
}

/// Why ranks cannot run on the hosts of the script hosts.sh; "" if they can.
inline std::string why_no_hosts(const std::string& script) {
  if (kIsHydra) return "UCX, by which MPICH sends, sees no devices of network namespaces";
  const bool can_make_them = std::system((script + " --probe >/dev/null 2>&1").c_str()) == 0;
  return can_make_them ? "" : "network namespaces cannot be made here";
}

/// The launcher's option that sets a variable of every rank.
inline std::string with_variable(const std::string& name, const std::string& value) {
  return kIsHydra ? "-genv " + name + " " + value : "-x " + name + "=" + value;
}

/// Processes whose command line mentions `folder` and whose environment, if given, contains
/// `environment`.
inline std::vector<pid_t> processes(const fs::path& folder, const std::string& environment = "") {
  const auto mentions = [](const fs::path& file, const std::string& text) {
    return content(file).find(text) != std::string::npos;
  };
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t process = std::stoi(name);
    if (process == ::getpid() || !mentions(entry.path() / "cmdline", folder.string())) continue;
    if (environment.empty() || mentions(entry.path() / "environ", environment)) {
      found.push_back(process);
    }
  }
  return found;
}

/// The process of `rank` of the job in `folder`; 0 if there is none.
inline pid_t process_of(int rank, const fs::path& folder) {
  const std::string variable = MPIEXEC_RANK "=" + std::to_string(rank);
  const auto found = processes(folder, variable + '\0');
  return found.empty() ? 0 : found.back();
}

}  // namespace outside

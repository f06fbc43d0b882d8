// Starts programs as people do, alone or under mpirun, and tells how they ended.
// Hides the shell, and what the launcher needs.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace runner {

inline std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct EndedJob {
  int status = -1;
  std::string out, err;
};

/// A job's surroundings: a folder for its output, and what else the tests set.
struct Job {
  std::filesystem::path folder;
  std::string mpiexec;
  std::string shim;   ///< library to preload in the ranks, "" for none
  std::string fault;  ///< what it does, see fault_shim.cpp
  std::string counts;

  /// The order of libraries is not looked at: the shim comes first.
  EndedJob run(int ranks, const std::string& command) const {
    const auto out = folder / "out", err = folder / "err";
    std::string line = "ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 OMP_NUM_THREADS=1 ";
    if (::getuid() == 0) line += "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
    if (!fault.empty()) line += "TRAINMARK_TEST_FAULT=" + fault + " ";
    if (!counts.empty()) line += "TRAINMARK_TEST_COUNTS=" + counts + " ";
    line += "timeout 300 " + mpiexec + " --oversubscribe --bind-to none -n " +
            std::to_string(ranks) + " ";
    if (!shim.empty()) line += "-x LD_PRELOAD=" + shim + " ";
    line += command + " >" + out.string() + " 2>" + err.string();
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  }
};

}  // namespace runner

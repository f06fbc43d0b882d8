// Starting programs from tests as users do: alone, under the launcher, and with misfortunes.
// Hides processes, their output, and how a rank of a running job is found.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "job.h"

namespace outside {

namespace fs = std::filesystem;

struct Ended {
  int status = -1;  ///< exit code; -1 when a signal ended it
  double seconds = 0.0;
  std::string out, err;
};

using runner::content;

/// A folder of the test's own, and programs started in it. MPIEXEC is the launcher's path.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / (name + "-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs `command` and waits for its end.
  Ended shell(const std::string& command) const {
    const auto began = std::chrono::steady_clock::now();
    return wait(start(command), began);
  }

  static std::string mpirun(int ranks) {
    const std::string allow =
        ::getuid() == 0 ? "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
    return allow + MPIEXEC " --oversubscribe --bind-to none -n " + std::to_string(ranks) + " ";
  }

  /// A job under way.
  struct Started {
    pid_t process = 0;
  };
  Started start(const std::string& command) const {
    const std::string line =
        command + " >" + (folder_ / "out").string() + " 2>" + (folder_ / "err").string();
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    EXPECT_GT(child, 0);
    return {child};
  }
  Ended wait(const Started& job, std::chrono::steady_clock::time_point began) const {
    int status = 0;
    EXPECT_EQ(::waitpid(job.process, &status, 0), job.process);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, took.count(), content(folder_ / "out"),
            content(folder_ / "err")};
  }

  /// Waits for `happens`, for far longer than it takes on a busy machine. Whether it came.
  static bool comes(const std::function<bool()>& happens) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      if (happens()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  /// Processes of the launcher's ranks, or of any kind, that were given this test's folder.
  std::vector<pid_t> processes(const std::string& environment = "") const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const pid_t process = std::stoi(name);
      if (process == ::getpid() || !mentions(entry.path() / "cmdline", folder_.string())) continue;
      if (environment.empty() || mentions(entry.path() / "environ", environment)) {
        found.push_back(process);
      }
    }
    return found;
  }
  /// The process of `rank`; 0 while there is none.
  pid_t process_of(int rank) const {
    const auto found = processes("OMPI_COMM_WORLD_RANK=" + std::to_string(rank));
    return found.empty() ? 0 : found.back();
  }

  static bool is_stopped(pid_t process) {
    const std::string status = content("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = status.rfind(')');
    return name_end != std::string::npos && status.substr(name_end, 4) == ") T ";
  }

  fs::path folder_;

 private:
  static bool mentions(const fs::path& file, const std::string& text) {
    return content(file).find(text) != std::string::npos;
  }
};

}  // namespace outside

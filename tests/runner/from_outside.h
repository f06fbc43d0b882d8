// Programs that tests start in a folder of their own and observe while they run.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch.h"
#include "runner/base/temporary_directory.h"
#include "waiting.h"

namespace outside {

class ProgramTest : public testing::Test {
 protected:
  Ended shell(const std::string& command) const { return outside::shell(command, folder_); }
  Started start(const std::string& command) const { return outside::start(command, folder_); }

  /// Processes of a job in this test's folder.
  std::vector<pid_t> processes() const { return outside::processes(folder_); }
  /// Waits until none of them is left; returns whether that happened.
  bool all_end() const {
    return comes([this] { return processes().empty(); });
  }
  /// The process of `rank`; 0 if there is none.
  pid_t process_of(int rank) const { return outside::process_of(rank, folder_); }

  static bool is_stopped(pid_t process) {
    const std::string status = content("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = status.rfind(')');
    return name_end != std::string::npos && status.substr(name_end, 4) == ") T ";
  }

 private:
  const base::TemporaryDirectory directory_;

 protected:
  const fs::path folder_ = directory_.path();
};

}  // namespace outside

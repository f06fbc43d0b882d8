// Programs that stand in for a scheduler's commands, in the test's folder.
#pragma once

#include <fstream>
#include <string>

#include "runner/from_outside.h"

namespace outside {

class StandInTest : public ProgramTest {
 protected:
  /// A program in `bin` that records its arguments and standard input, and prints `answer`.
  std::string fake(const std::string& name, const std::string& answer, int exit_code) const {
    fs::create_directories(folder_ / "bin");
    const fs::path file = folder_ / "bin" / name;
    std::ofstream(file) << "#!/bin/sh\necho \"$@\" >>" << (folder_ / "arguments").string()
                        << "\ncat >" << (folder_ / "input").string() << "\necho " << answer
                        << "\nexit " << exit_code << "\n";
    fs::permissions(file, fs::perms::owner_all);
    return "PATH=" + (folder_ / "bin").string() + ":$PATH ";
  }
};

}  // namespace outside

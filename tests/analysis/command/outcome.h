// What a command returned and wrote, for tests.
#pragma once

#include <string>

#include "runner/base/error.h"

namespace checking {

struct Outcome {
  base::ExitCode code;
  std::string out, people;
};

}  // namespace checking

// How a run ended, in words and as an exit code.
// Hides nothing.
#pragma once

#include "runner/base/error.h"

namespace runner {

enum class RunStatus {
  kSuccess,
  kTargetMissed,  ///< the epoch limit came first
  kStopped,       ///< somebody asked for an end
  kDiverged,      ///< the loss or the quality is no number any more
  kRuleBroken     ///< a strict run broke a rule on its way
};
const char* to_string(RunStatus status);
base::ExitCode exit_code(RunStatus status);

}  // namespace runner

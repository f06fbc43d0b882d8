// How a run ended, as text and as an exit code.
#pragma once

#include "runner/base/error.h"

namespace runner {

enum class RunStatus {
  kSuccess,
  kTargetMissed,  ///< the epoch limit was reached first
  kStopped,       ///< by a signal
  kDiverged,      ///< the loss or the quality is not finite
  kRuleBroken     ///< a strict run broke a rule during training
};
const char* to_string(RunStatus status);
base::ExitCode exit_code(RunStatus status);

}  // namespace runner

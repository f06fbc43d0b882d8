// Texts and exit codes of how a run ended.
#include "runner/run_status.h"

namespace runner {

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::kSuccess:
      return "success";
    case RunStatus::kTargetMissed:
      return "target_missed";
    case RunStatus::kStopped:
      return "stopped";
    case RunStatus::kDiverged:
      return "diverged";
    case RunStatus::kRuleBroken:
      return "rule_broken";
  }
  return "unknown";
}

base::ExitCode exit_code(RunStatus status) {
  switch (status) {
    case RunStatus::kSuccess:
      return base::ExitCode::kSuccess;
    case RunStatus::kStopped:
      return base::ExitCode::kStopped;
    case RunStatus::kTargetMissed:
    case RunStatus::kDiverged:
      return base::ExitCode::kTargetMissed;
    case RunStatus::kRuleBroken:
      return base::ExitCode::kNonCompliant;
  }
  return base::ExitCode::kInternal;
}

}  // namespace runner

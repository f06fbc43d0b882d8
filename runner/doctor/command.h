// The command `trainmark doctor`.
#pragma once

#include "runner/base/command.h"
#include "runner/commands.h"

namespace doctor {

/// Examines this machine or, under a launcher, all nodes. Runs MPI in a child process, so that
/// doctor can report if MPI hangs or crashes.
base::Command command(const runner::CommandParts& parts);

}  // namespace doctor

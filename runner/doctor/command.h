// The command `trainmark doctor`.
#pragma once

#include "runner/base/command.h"
#include "runner/commands.h"

namespace doctor {

/// Looks at this machine, or under a launcher at all nodes. Starts MPI in a process of its own, so
/// that it has an answer where MPI has none.
base::Command command(const runner::CommandParts& parts);

}  // namespace doctor

// The command `trainmark scale`.
#pragma once

#include "runner/base/command.h"
#include "runner/commands.h"

namespace scale {

/// Counts what a configuration computes and sends on any numbers of ranks and with any batches,
/// and predicts times from measured rates. Trains nothing.
base::Command command(const runner::CommandParts& parts);

}  // namespace scale

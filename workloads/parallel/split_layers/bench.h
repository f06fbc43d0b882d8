// `trainmark bench split-layers`: plans how ranks split the layers of a well-known network, trains
// it so and by data parallelism alone, and compares bytes, times and losses.
#pragma once

#include "runner/workload.h"

namespace split_layers_bench {

runner::MachineBench bench();

}  // namespace split_layers_bench

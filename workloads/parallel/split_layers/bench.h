// `trainmark bench hybrid`: plans how ranks split the layers of a well-known network, trains it so
// and by data parallelism alone, and compares bytes, times and losses.
#pragma once

#include "runner/workload.h"

namespace hybrid_bench {

runner::MachineBench bench();

}  // namespace hybrid_bench

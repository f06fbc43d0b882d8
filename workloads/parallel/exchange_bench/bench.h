// `trainmark bench exchange`: collectives over sizes, by training's code and by MPI, in the columns
// of NVIDIA's nccl-tests; slow hosts by name.
#pragma once

#include "runner/workload.h"

namespace exchange_bench {

runner::MachineBench bench();

}  // namespace exchange_bench

// What a run is about to read and compute, for the choice of a mode of staging.
#pragma once

#include <cstdint>
#include <functional>

#include "runner/run_config.h"
#include "runner/workload.h"
#include "staging/stage.h"

namespace parallel {

/// The functions are called only where a choice depends on them.
struct RunAhead {
  std::int64_t epochs = 0;
  double evaluations_per_epoch = 0.0;
  std::function<std::int64_t()> node_memory_bytes = {};  ///< that the ranks of this node need
  std::function<double()> step_compute_s = {};           ///< Collective. 0: no earlier run tells
};

using MemoryOf = runner::MemoryNeeds (*)(const runner::RunConfig& run,
                                         const runner::PlannedRank& place);

/// Of a run of this configuration. `around` must outlive what is returned.
RunAhead ahead_of(const runner::RunConfig& run, const runner::Surroundings& around,
                  MemoryOf memory_of);

/// Collective. Calls the functions of `ahead`.
staging::Outlook outlook_of(const RunAhead& ahead, std::int64_t steps_per_epoch);

}  // namespace parallel

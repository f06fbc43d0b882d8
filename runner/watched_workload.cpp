// A workload without a run.
#include "runner/watched_workload.h"

#include "runner/placement.h"
#include "runner/together.h"

namespace runner {

WatchedWorkload::WatchedWorkload(const ConfigSource& source, const Communicator& world)
    : world_(world),
      watchdog_(world, watch_options(source.config->watch)),
      topology_(discover_topology(world)),
      telemetry_(clock_, &world.activity()),
      around_{world, topology_, telemetry_,
              plan_threads(source.config->threads, current_binding(), topology_.node).threads} {
  together(world, [&] { workload_ = source.entry->make(*source.config, around_); });
}

}  // namespace runner

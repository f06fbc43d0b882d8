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
              take_place(source.config->cpus, source.config->threads, world, topology_.node)
                  .threads.threads} {
  together(world, [&] { workload_ = source.entry->make(*source.config, around_); });
}

}  // namespace runner

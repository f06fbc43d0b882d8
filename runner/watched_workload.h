// The workload of a command that looks at it without a run, and what surrounds it.
#pragma once

#include <memory>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "runner/config_source.h"
#include "runner/telemetry/telemetry.h"
#include "runner/watchdog.h"
#include "runner/workload.h"

namespace runner {

/// A watchdog ends the job where a rank makes no progress or is lost while this lives.
class WatchedWorkload {
 public:
  /// Collective. Makes the workload of the configuration, which outlives it as `world` does. Throws
  /// AgreedError where a rank cannot.
  WatchedWorkload(const ConfigSource& source, const Communicator& world);
  Workload& operator*() const { return *workload_; }
  Workload* operator->() const { return workload_.get(); }
  double wall_s() const { return telemetry_.wall_s(); }  ///< since it was made
  /// Collective. Waits until all ranks are done, in the sight of the watchdog: in MPI_Finalize
  /// nobody would notice one that does not come.
  void wait_for_all() const { world_.barrier(); }

 private:
  const Communicator& world_;
  const Watchdog watchdog_;
  const Topology topology_;
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  const Surroundings around_;
  std::unique_ptr<Workload> workload_;
};

}  // namespace runner

// A workload for commands that inspect it without a run, with its dependencies.
#pragma once

#include <memory>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "runner/config_source.h"
#include "runner/telemetry/telemetry.h"
#include "runner/watchdog.h"
#include "runner/workload.h"

namespace runner {

/// While it lives, a watchdog ends the job if a rank makes no progress or is lost.
class WatchedWorkload {
 public:
  /// Collective. Creates the configuration's workload. `source` and `world` must outlive this
  /// object. Throws AgreedError if the workload cannot be created on some rank.
  WatchedWorkload(const ConfigSource& source, const Communicator& world);
  Workload& operator*() const { return *workload_; }
  Workload* operator->() const { return workload_.get(); }
  double wall_s() const { return telemetry_.wall_s(); }  ///< since construction
  /// Collective. Waits for all ranks under the watchdog, which notices a rank that does not arrive;
  /// in MPI_Finalize there is no watchdog.
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

// One run from init to run_stop: who may stop it, when it is evaluated, what the log says.
// Hides the order of things; workloads and tests cannot get it wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/caches.h"
#include "runner/checkpointer.h"
#include "runner/console.h"
#include "runner/mllog/log_writer.h"
#include "runner/resume.h"
#include "runner/run_config.h"
#include "runner/run_status.h"
#include "runner/stop_signals.h"
#include "runner/telemetry/live_status.h"
#include "runner/telemetry/report_file.h"
#include "runner/watchdog.h"
#include "runner/workload.h"

namespace runner {

/// What a run gave; the same on every rank, but for the telemetry.
struct RunOutcome {
  RunStatus status = RunStatus::kTargetMissed;
  std::string reason;           ///< "" after success
  mllog::QualityTarget target;  ///< what it was to reach
  /// Trained completely; of an epoch that is cut, up to the end of the last part.
  double epochs = 0.0;
  double run_s = 0.0;      ///< run_start to run_stop on a steady clock
  double earlier_s = 0.0;  ///< of a resumed run: what its earlier parts took up to the checkpoint
  std::vector<EvaluationPoint> evaluations;  ///< those of earlier parts too
  std::string telemetry_entry;  ///< telemetry::rank_entry of run_start to run_stop, this rank's
  nlohmann::json staging;       ///< what Workload::stage() told

  bool has_quality() const { return !evaluations.empty(); }
};

/// What surrounds a run; all outlive it.
struct RunDoors {
  const Communicator& world;
  const Topology& topology;
  telemetry::Telemetry& telemetry;
  mllog::LogWriter& log;
  telemetry::RankIdentity identity;
  Console& console;
  std::function<StopSignal()> stop_requested;  ///< asked on every rank; one is enough
  Checkpointer* checkpointer = nullptr;        ///< null: the run is never saved
  const ResumePoint* resume = nullptr;         ///< null: it begins anew
  Watchdog* watchdog = nullptr;                ///< null: nobody watches
  telemetry::LiveStatusFile* live = nullptr;   ///< null: no other shell is told
  /// Collective. Called when all is initialised, before run_start; may be empty.
  std::function<void()> before_start = nullptr;
  /// Called on rank 0's watching thread where the job is about to end; may be empty.
  std::function<void(const std::string& reason)> on_failure = nullptr;
  /// A rule that the log breaks for good, which ends the run; "": none. Asked on rank 0. Empty:
  /// nobody asks.
  std::function<std::string()> rule_broken = nullptr;
};

/// Collective. Trains `workload` as `config` says. `caches` goes into the log. A failure of this
/// rank is thrown; the log then ends with run_stop aborted, where the failure is another rank's by
/// the watchdog. Throws AgreedError on every rank if replicas drifted apart.
RunOutcome run_once(const RunConfig& config, Workload& workload, const CacheClearing& caches,
                    const RunDoors& doors);

}  // namespace runner

// What surrounds a run: other ranks, log, console, checkpoints, and who may stop it.
#pragma once

#include <functional>
#include <string>

#include "runner/checkpointer.h"
#include "runner/communicator.h"
#include "runner/console.h"
#include "runner/mllog/log_writer.h"
#include "runner/resume.h"
#include "runner/stop_signals.h"
#include "runner/telemetry/live_status.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/telemetry.h"
#include "runner/watchdog.h"

namespace runner {

/// All outlive the run.
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

}  // namespace runner

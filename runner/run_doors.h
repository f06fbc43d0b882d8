// The dependencies of a run: other ranks, log, console, checkpoints, and sources of stop requests.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
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
  std::function<StopSignal()> stop_requested;  ///< called on every rank; one request is enough
  Checkpointer* checkpointer = nullptr;        ///< null: the run is never saved
  const ResumePoint* resume = nullptr;         ///< null: start from scratch
  Watchdog* watchdog = nullptr;                ///< null: no watchdog
  telemetry::LiveStatusFile* live = nullptr;   ///< null: no live status file
  /// Collective. Called after initialisation, before run_start; may be empty.
  std::function<void()> before_start = nullptr;
  /// Called on rank 0's watching thread when the job is about to end; may be empty.
  std::function<void(const std::string& reason)> on_failure = nullptr;
  /// Called on rank 0. Returns the rule that the log irrevocably breaks, which ends the run, or "".
  /// May be empty.
  std::function<std::string()> rule_broken = nullptr;
  /// Collective. Called first of all, to find what the storage of results cannot do; may be empty.
  std::function<void()> try_storage = nullptr;
  /// Collective. Called within staging, before it reads the data: what of them is in memory, for
  /// the log; null if there is nothing to tell. May be empty.
  std::function<nlohmann::json()> look_at_data = nullptr;
};

}  // namespace runner

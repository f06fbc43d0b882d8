// What a run gave: how it ended, its evaluations and its times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/checkpoint_record.h"
#include "runner/mllog/quality_target.h"
#include "runner/run_status.h"

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

}  // namespace runner

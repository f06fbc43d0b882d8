// The outcome of a run: how it ended, its evaluations and its times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/checkpoint_record.h"
#include "runner/mllog/quality_target.h"
#include "runner/run_status.h"

namespace runner {

/// The same on every rank, except for the telemetry.
struct RunOutcome {
  RunStatus status = RunStatus::kTargetMissed;
  std::string reason;           ///< "" after success
  mllog::QualityTarget target;  ///< the target in effect
  /// Epochs trained completely; of a split epoch, up to the end of its last part.
  double epochs = 0.0;
  double run_s = 0.0;      ///< run_start to run_stop on a steady clock
  double earlier_s = 0.0;  ///< in a resumed run: s that its earlier parts took up to the checkpoint
  std::vector<EvaluationPoint> evaluations;  ///< includes those of earlier parts
  std::string telemetry_entry;       ///< telemetry::rank_entry of this rank, run_start to run_stop
  nlohmann::json staging;            ///< the result of Workload::stage()
  std::vector<std::string> remarks;  ///< on rank 0: Workload::take_remarks() of all ranks

  bool has_quality() const { return !evaluations.empty(); }
};

}  // namespace runner

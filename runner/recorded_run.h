// One run with its files: log, configuration, checkpoints, telemetry, weights, trace.
// Hides their order, and what ranks close together where a run fails.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runner/folder_lock.h"
#include "runner/resume.h"
#include "runner/run_config.h"
#include "runner/run_outcome.h"
#include "runner/run_set_plan.h"
#include "runner/set_run.h"
#include "runner/workload.h"

namespace runner {

/// What the runs of one process have in common; all outlive them.
struct RunSetting {
  const RunConfig& config;  ///< each run has its own seed
  const RunSetPlan& plan;
  MakeWorkload make;
  const RunSetDoors& doors;
  int threads = 1;            ///< of this rank
  nlohmann::json provenance;  ///< on rank 0
};

/// One of them.
struct RunOrder {
  std::uint64_t seed = 0;
  std::int64_t number = 1;  ///< among the runs of the set
  MemberHooks hooks = {};
  const ResumePoint* resume = nullptr;  ///< null: it begins anew
  /// On rank 0, of the folder that it goes on saving to.
  std::unique_ptr<FolderLock> lock = nullptr;
};

/// What a run leaves, on rank 0; filled while it goes on, so that a failed one can be told of.
struct RunRecord {
  std::string log_path;     ///< "" before there is one
  nlohmann::json document;  ///< its result, of a run that came to its end
};

/// Collective. Throws what ends the run. An error that all ranks know of leaves this process ready
/// for the next run of a set.
RunOutcome record_run(const RunSetting& setting, RunOrder order, RunRecord& record);

/// How other runs see this process, which shows in `live_file` that it lives ("": in none).
FolderOwner this_owner(const std::string& live_file);

}  // namespace runner

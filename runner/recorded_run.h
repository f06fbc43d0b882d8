// One run with its files: log, configuration, checkpoints, telemetry, weights, trace.
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

/// What all runs of one process share; all members outlive them.
struct RunSetting {
  const RunConfig& config;  ///< each run has its own seed
  const RunSetPlan& plan;
  MakeWorkload make;
  const RunSetDoors& doors;
  int threads = 1;            ///< of this rank
  nlohmann::json provenance;  ///< on rank 0
};

/// The parameters of one run.
struct RunOrder {
  std::uint64_t seed = 0;
  std::int64_t number = 1;  ///< number within the set
  MemberHooks hooks = {};
  const ResumePoint* resume = nullptr;  ///< null: start from scratch
  /// On rank 0: the lock of the checkpoint folder that a resumed run continues to use.
  std::unique_ptr<FolderLock> lock = nullptr;
};

/// The results of a run on rank 0, filled while it goes on, so that a failed run can be reported.
struct RunRecord {
  std::string log_path;     ///< "" until the log exists
  nlohmann::json document;  ///< result of a run that ended normally
};

/// Collective. Writes the result document of a single run. Rethrows the error that ends the run.
/// After an error that all ranks know of, this process can start the next run of a set.
RunOutcome record_run(const RunSetting& setting, RunOrder order, RunRecord& record);

/// How other runs see this process; `live_file` shows that it is alive ("": no file).
FolderOwner this_owner(const std::string& live_file);

}  // namespace runner

// The plan of a process's runs, and their dependencies.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "runner/checkpointer.h"
#include "runner/console.h"
#include "runner/placement.h"
#include "runner/resume.h"
#include "runner/run_result.h"
#include "runner/run_rules.h"
#include "runner/set_run.h"
#include "runner/stop_signals.h"
#include "runner/watchdog.h"
#include "runner/workload.h"

namespace runner {

/// Creates a file of named arrays, which appears at `path` with finish(). Supplied by main, so that
/// the runner depends on no file format.
using MakeStateWriter = std::function<std::unique_ptr<StateWriter>(const std::string& path)>;

/// The dependencies of a run set; all outlive it.
struct RunSetDoors {
  const Communicator& world;
  const Topology& topology;
  const Place& place;
  const base::Clock& clock;
  Console& console;
  std::ostream& out;  ///< for the RESULT lines and the files' paths
  std::function<StopSignal()> stop_requested;
  std::function<bool()> checkpoint_requested;  ///< see CheckpointDoors
  MakeStateWriter make_state_writer;
  CheckpointFormat checkpoint_format;
  nlohmann::json libraries;  ///< names and versions, for the provenance
  SummarizeSet summarize;
  ResultSink& result;
  Watchdog* watchdog = nullptr;     ///< null: no watchdog
  const RunRules* rules = nullptr;  ///< judge each log; null on ranks other than 0, and without
                                    ///< rules

  /// Output for people; null if a JSON document occupies standard output.
  std::ostream* lines() const { return result.owns_standard_output() ? nullptr : &out; }
};

struct RunSetPlan {
  std::int64_t runs = 1;             ///< above 1: a set, see run_members()
  std::optional<std::int64_t> only;  ///< run only this member of the set
  SetKind kind = SetKind::kOneByOne;
  double start_timeout_s = kDefaultStartTimeoutS;  ///< for a set with a common start
  SetInvocation invocation;                        ///< for a set
  /// Resumes from this checkpoint, or the newest of this folder; requires runs == 1.
  std::optional<std::string> resume;
  NothingSaved nothing_saved = NothingSaved::kRefuse;  ///< used if `resume` finds nothing
  std::optional<telemetry::StepRange> trace;           ///< steps to trace in each run
};

}  // namespace runner

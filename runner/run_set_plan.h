// What the runs of one process are to be, and what surrounds them.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "runner/checkpointer.h"
#include "runner/console.h"
#include "runner/resume.h"
#include "runner/run_result.h"
#include "runner/run_rules.h"
#include "runner/set_run.h"
#include "runner/stop_signals.h"
#include "runner/watchdog.h"
#include "runner/workload.h"

namespace runner {

/// A new file of named arrays that appears at `path` with finish(); given by main, so that the
/// runner knows no file format.
using MakeStateWriter = std::function<std::unique_ptr<StateWriter>(const std::string& path)>;

/// What surrounds a run set; all outlive it.
struct RunSetDoors {
  const Communicator& world;
  const Topology& topology;
  const base::Clock& clock;
  Console& console;
  std::ostream& out;  ///< the RESULT lines and the files' paths
  std::function<StopSignal()> stop_requested;
  std::function<bool()> checkpoint_requested;  ///< see CheckpointDoors
  MakeStateWriter make_state_writer;
  CheckpointFormat checkpoint_format;
  nlohmann::json libraries;  ///< names and versions, for the provenance of the figures
  SummarizeSet summarize;
  ResultSink& result;
  Watchdog* watchdog = nullptr;     ///< null: nobody watches
  const RunRules* rules = nullptr;  ///< that judge each log; null: on ranks other than 0, or none

  /// Where people read of results; null where a JSON document has standard output.
  std::ostream* lines() const { return result.owns_standard_output() ? nullptr : &out; }
};

struct RunSetPlan {
  std::int64_t runs = 1;             ///< above 1: a set, see run_members()
  std::optional<std::int64_t> only;  ///< member of the set
  SetKind kind = SetKind::kOneByOne;
  double start_timeout_s = kDefaultStartTimeoutS;  ///< of a set that starts together
  SetInvocation invocation;                        ///< of a set
  /// Goes on from this checkpoint, or the newest of this folder, then runs is 1.
  std::optional<std::string> resume;
  NothingSaved nothing_saved = NothingSaved::kRefuse;  ///< where `resume` finds nothing
  std::optional<telemetry::StepRange> trace;           ///< of each run
};

}  // namespace runner

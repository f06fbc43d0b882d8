// Executes a run set from its first member to its summary. A set continues where it was left, and
// all processes started for it share its members.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/communicator.h"
#include "runner/console.h"
#include "runner/run_config.h"
#include "runner/set_file.h"
#include "runner/set_members.h"
#include "runner/set_summary.h"
#include "runner/start_barrier.h"

namespace runner {

/// Callbacks of a running member, on rank 0.
struct MemberHooks {
  std::function<void(std::int64_t number)> has_result;  ///< it has claimed result_<number>.*
  std::function<void()> wait_for_start;  ///< with a common start: called before run_start
};

/// How a member ended and, on rank 0, its result document.
struct MemberRun {
  MemberEnd end;
  nlohmann::json document;
};

/// Collective. Runs one member with the given seed. Throws errors that end the whole job.
using RunMember =
    std::function<MemberRun(std::uint64_t seed, std::int64_t member, const MemberHooks& hooks)>;

struct SetPlan {
  std::int64_t runs = 0;
  std::optional<std::int64_t> only;  ///< only this member
  SetKind kind = SetKind::kOneByOne;
  double start_timeout_s = kDefaultStartTimeoutS;
  SetInvocation invocation;
  SetTimes times;
};

/// The dependencies of a set; all outlive it.
struct SetDoors {
  const Communicator& world;
  const base::Clock& clock;
  Console& console;
  std::function<bool()> stop_requested;
  SummarizeSet summarize;
};

/// The result of this process's work on a set.
struct SetOutcome {
  base::ExitCode code = base::ExitCode::kSuccess;
  nlohmann::json document;  ///< of the set, or of the only member; on rank 0
  std::string summary;      ///< as text, on rank 0; "" if another instance tells it
};

/// Collective. Runs the missing members of the set in the configuration's results folder. Returns
/// kStopped if a signal ended it; kIncomplete if members are missing because other processes run
/// them or they were interrupted; else the result of its members: the code of an error,
/// kTargetMissed, or kSuccess. With `only`, the result of that member. Throws AgreedError if the
/// folder holds another set.
SetOutcome run_members(const RunConfig& config, const SetPlan& plan, const RunMember& run,
                       const SetDoors& doors);

}  // namespace runner

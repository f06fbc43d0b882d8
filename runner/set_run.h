// A run set from its first member to its summary: continued where it was left, and shared by all
// processes that were started for it. Hides who takes which member, and what a failure of one means
// for the others.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
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

/// What a member tells while it runs; of rank 0.
struct MemberHooks {
  std::function<void(std::int64_t number)> has_result;  ///< it owns result_<number>.*
  std::function<void()> wait_for_start;  ///< where all start together: before run_start
};

/// How a member ended, and the document of its result (on rank 0).
struct MemberRun {
  MemberEnd end;
  nlohmann::json document;
};

/// Collective. Runs one member with this seed. Throws what ends the whole job.
using RunMember =
    std::function<MemberRun(std::uint64_t seed, std::int64_t member, const MemberHooks& hooks)>;

struct SetPlan {
  std::int64_t runs = 0;
  std::optional<std::int64_t> only;  ///< this member and no other
  SetKind kind = SetKind::kOneByOne;
  double start_timeout_s = kDefaultStartTimeoutS;
  SetInvocation invocation;
  SetTimes times;
};

/// What surrounds a set; all outlive it.
struct SetDoors {
  const Communicator& world;
  const base::Clock& clock;
  Console& console;
  std::function<bool()> stop_requested;
  SummarizeSet summarize;
  std::ostream* summary_out;  ///< the summary as text; null: nowhere
};

/// What a process did for its set.
struct SetOutcome {
  base::ExitCode code = base::ExitCode::kSuccess;
  nlohmann::json document;  ///< of the set, or of the only member; on rank 0
};

/// Collective. Runs what is missing of the set in the configuration's results folder. Answers with
/// kStopped if a signal ended it; kIncomplete where members are missing that other processes run,
/// or that were cut off; else by what its members came to: the code of an error, kTargetMissed, or
/// kSuccess. With `only`, by that member alone. Throws AgreedError for another set in the folder.
SetOutcome run_members(const RunConfig& config, const SetPlan& plan, const RunMember& run,
                       const SetDoors& doors);

}  // namespace runner

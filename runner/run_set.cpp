// A single run, or the members of a set.
#include "runner/run_set.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <span>

#include "runner/agreed_error.h"
#include "runner/log_ending.h"
#include "runner/placement.h"
#include "runner/provenance.h"
#include "runner/recorded_run.h"
#include "runner/resume.h"
#include "runner/together.h"

namespace runner {
namespace {

MemberStatus member_status(RunStatus status) {
  switch (status) {
    case RunStatus::kSuccess:
      return MemberStatus::kSuccess;
    case RunStatus::kTargetMissed:
      return MemberStatus::kTargetMissed;
    case RunStatus::kStopped:
      return MemberStatus::kStopped;
    case RunStatus::kDiverged:
      return MemberStatus::kDiverged;
    case RunStatus::kRuleBroken:
      return MemberStatus::kFailed;
  }
  return MemberStatus::kFailed;
}

/// The result of a member that failed with an error known to every rank.
MemberRun failed_member(const std::exception& error, std::uint64_t seed,
                        const std::string& log_path) {
  const base::Failure failure = base::failure_of(error);
  const bool trained = !log_path.empty() && log_ending(log_path).trained;
  MemberRun done;
  done.end = {trained ? MemberStatus::kFailed : MemberStatus::kNotStarted, failure.message,
              failure.code};
  done.document = failure_document(failure);
  done.document["seed"] = seed;
  if (!log_path.empty()) done.document["files"] = {{"log", log_path}};
  return done;
}

class RunSet {
 public:
  RunSet(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
         const RunSetDoors& doors)
      : config_(config),
        plan_(plan),
        doors_(doors),
        setting_{config,
                 plan,
                 make,
                 doors,
                 doors.place.threads.threads,
                 gather_provenance(doors.world, doors.topology, doors.place, doors.libraries)} {}

  base::ExitCode go();

 private:
  std::uint64_t seed() const;  ///< of a run outside a set
  void warn() const;
  /// Opens the checkpoint to resume; the run gets its seed.
  void open_checkpoint();
  base::ExitCode run_all_members();
  MemberRun run_member(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks);
  bool is_set() const { return plan_.runs > 1; }

  const RunConfig& config_;
  const RunSetPlan& plan_;
  const RunSetDoors& doors_;
  const RunSetting setting_;
  std::optional<ResumePoint> resume_;
  std::unique_ptr<FolderLock> lock_;  ///< on rank 0: the checkpoint folder of a resumed run
};

base::ExitCode RunSet::go() {
  warn();
  if (is_set()) return run_all_members();
  if (plan_.resume) open_checkpoint();
  RunRecord record;
  const RunStatus status =
      record_run(setting_, {seed(), 1, {}, resume_ ? &*resume_ : nullptr, std::move(lock_)}, record)
          .status;
  return exit_code(status);
}

base::ExitCode RunSet::run_all_members() {
  const SetDoors doors{doors_.world, doors_.clock, doors_.console,
                       [this] { return doors_.stop_requested() != StopSignal::kNone; },
                       doors_.summarize};
  const RunMember run = [this](std::uint64_t seed, std::int64_t number, const MemberHooks& hooks) {
    return run_member(seed, number, hooks);
  };
  const SetOutcome outcome = run_members(
      config_, {plan_.runs, plan_.only, plan_.kind, plan_.start_timeout_s, plan_.invocation, {}},
      run, doors);
  if (doors_.world.rank() == 0) {
    doors_.result.write_and_print(outcome.document, [&] {
      if (doors_.lines() != nullptr) *doors_.lines() << outcome.summary << std::flush;
    });
  }
  return outcome.code;
}

MemberRun RunSet::run_member(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks) {
  RunRecord record;
  try {
    const RunOutcome outcome = record_run(setting_, {seed, number, hooks}, record);
    return {{member_status(outcome.status), outcome.reason, exit_code(outcome.status)},
            std::move(record.document)};
  } catch (const AgreedError& e) {
    if (e.code() == base::ExitCode::kUsage) throw;  // every member would fail in the same way
    return failed_member(e, seed, record.log_path);
  } catch (const base::Error& e) {
    // If only one rank fails, the others wait for it: the job must end.
    if (doors_.world.size() > 1 || e.code() == base::ExitCode::kUsage) throw;
    return failed_member(e, seed, record.log_path);
  }
}

std::uint64_t RunSet::seed() const {
  std::uint64_t seed = config_.seed;
  if (seed == 0 && resume_) {
    seed = base::ObjectReader(resume_->record.config, resume_->path)
               .optional<std::uint64_t>("seed", 0, "seed of the run that was saved");
  }
  if (seed == 0 && doors_.world.rank() == 0) seed = seed_from_system();
  doors_.world.broadcast(std::as_writable_bytes(std::span(&seed, 1)), 0);
  return seed;
}

void RunSet::warn() const {
  const std::string over = oversubscription(doors_.place.threads, doors_.world);
  if (!over.empty()) doors_.console.warn(over);
  if (config_.evaluation.next_due(config_.epochs) != config_.epochs) {
    doors_.console.warn(fmt::format(
        "/evaluation: no evaluation is due after the last epoch ({}): what is trained after the "
        "last evaluation is never judged",
        config_.epochs));
  }
}

void RunSet::open_checkpoint() {
  telemetry::Telemetry telemetry(doors_.clock);
  const Surroundings around{doors_.world, doors_.topology, telemetry, doors_.place.threads.threads};
  ResumeWish wish{*plan_.resume, plan_.nothing_saved, {}, {}, this_owner("")};
  together(doors_.world, [&] {
    // Creating the workload reads its keys; it knows which of them a resumed run may change.
    wish.keys_without_effect = setting_.make(config_, around)->keys_without_effect();
    wish.config = config_.reader.resolved();
  });
  ResumeChoice choice =
      choose_checkpoints(wish, doors_.checkpoint_format, doors_.world, doors_.console);
  if (choice.candidates.empty()) {
    doors_.console.info(fmt::format("nothing to go on from in {}: a run begins", *plan_.resume));
    return;
  }
  resume_.emplace(
      open_resume_point(choice.candidates, doors_.checkpoint_format, doors_.world, doors_.console));
  lock_ = std::move(choice.lock);
}

}  // namespace

base::ExitCode run_set(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
                       const RunSetDoors& doors) {
  return RunSet(config, plan, make, doors).go();
}

}  // namespace runner

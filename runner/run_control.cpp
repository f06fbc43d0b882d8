// Votes, checkpoints, and the end of a run.
#include "runner/run_control.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/agreed_error.h"
#include "runner/votes.h"

namespace runner {
namespace {

using telemetry::Scope;
using telemetry::Subsystem;

}  // namespace

void RunControl::resume() {
  const ResumePoint* point = run_.doors.resume;
  RunPosition& at = run_.at;
  if (point != nullptr) at = point->record.position;
  saved_steps_ = at.steps_done;
  run_.doors.world.activity().set_steps(at.steps_done);  // resets the count of a set's previous run
  if (point == nullptr) return;
  run_.progress.enter("reading of the checkpoint");
  run_.log.resumed(point->path, at);
  const Scope scope(run_.doors.telemetry, Subsystem::kCheckpoint);
  run_.workload.restore(*point->arrays, at.steps_done);
  if (run_.doors.checkpointer != nullptr) run_.doors.checkpointer->note_whole(point->path);
  const std::int64_t period = run_.steps_between_evaluations();
  run_.outcome.epochs =
      run_.epochs_done(period > 0 ? at.steps_in_epoch % period : at.steps_in_epoch);
  run_.outcome.earlier_s = at.elapsed_s;
  run_.outcome.evaluations = at.evaluations;
}

void RunControl::save_if_wanted() {
  const Checkpointer* checkpointer = run_.doors.checkpointer;
  if (checkpointer == nullptr) return;
  if (checkpoint_wanted_ || checkpointer->is_due(run_.at.steps_done)) save();
}

void RunControl::save() {
  run_.progress.enter("checkpoint");
  const Scope scope(run_.doors.telemetry, Subsystem::kCheckpoint);
  run_.at.elapsed_s = run_.since_start_s();
  run_.at.evaluations = run_.outcome.evaluations;
  run_.log.save_start(run_.at.steps_done);
  run_.doors.checkpointer->save(run_.at, run_.workload);
  run_.log.save_stop(run_.at.steps_done);
  checkpoint_wanted_ = false;
  saved_steps_ = run_.at.steps_done;
}

std::int64_t RunControl::steps_to_next_cut(std::int64_t last) const {
  std::int64_t steps = last - run_.at.steps_in_epoch;
  if (run_.doors.checkpointer != nullptr) {
    steps = std::min(steps, run_.doors.checkpointer->steps_until_due(run_.at.steps_done));
  }
  return std::min(steps, steps_at_once_);
}

bool RunControl::goes_on(bool finite, double ns_per_step) {
  const RunDoors& doors = run_.doors;
  const bool wants_checkpoint = doors.checkpointer != nullptr && doors.checkpointer->wanted_here();
  const std::string broken = doors.rule_broken ? doors.rule_broken() : "";
  const Votes votes =
      agree(doors.world, {finite, doors.stop_requested(), wants_checkpoint, ns_per_step,
                          !broken.empty(), !run_.log.problem().empty()});
  checkpoint_wanted_ = checkpoint_wanted_ || votes.wants_checkpoint;
  if (votes.ns_per_step > 0) {
    steps_at_once_ = steps_until_votes(votes.ns_per_step, doors.topology.node_count > 1);
  }
  if (!votes.is_finite) {
    return run_.end(RunStatus::kDiverged,
                    fmt::format("the loss is not finite at step {}", run_.at.steps_done));
  }
  if (votes.lacks_records) end_without_log();
  if (votes.stop != StopSignal::kNone) return stop(votes.stop);
  if (votes.breaks_a_rule) {
    return run_.end(RunStatus::kRuleBroken, doors.world.broadcast("--rules strict: " + broken, 0));
  }
  return true;
}

void RunControl::end_without_log() {
  std::string what = "the run is not saved";
  try {
    if (run_.doors.checkpointer != nullptr && run_.at.steps_done > saved_steps_) save();
    if (saved_steps_ > 0) what = fmt::format("the run is saved after step {}", saved_steps_);
  } catch (const AgreedError& e) {
    run_.doors.console.warn(e.what());
  }
  const std::string problem = run_.doors.world.broadcast(run_.log.problem(), 0);
  throw AgreedError(base::ExitCode::kSystem, fmt::format("{}; {}", problem, what));
}

bool RunControl::stop(StopSignal signal) {
  const bool is_to_be_saved = checkpoint_wanted_ || run_.config.checkpoint.is_scheduled() ||
                              signal == StopSignal::kSaveAndEnd;
  const bool is_saved = run_.at.steps_done <= saved_steps_;
  if (run_.doors.checkpointer != nullptr && is_to_be_saved && !is_saved) save();
  return run_.end(RunStatus::kStopped, fmt::format("stopped by {} after step {}", to_string(signal),
                                                   run_.at.steps_done));
}

}  // namespace runner

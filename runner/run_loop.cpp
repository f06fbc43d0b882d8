// The run loop.
// Hides how the steps of an epoch are cut.
#include "runner/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "runner/agreed_error.h"
#include "runner/drifted_ranks.h"
#include "runner/run_log.h"
#include "runner/run_progress.h"
#include "runner/votes.h"

namespace runner {
namespace {

using telemetry::Scope;
using telemetry::Subsystem;

/// Ranks agree whether to go on about this often.
constexpr double kAgreeEveryNs = 1e9;
constexpr double kNsPerS = 1e9;

class Run {
 public:
  Run(const RunConfig& config, Workload& workload, const RunDoors& doors)
      : config_(config),
        workload_(workload),
        doors_(doors),
        log_(doors.log),
        progress_(doors, workload.info().name),
        last_words_(doors.watchdog, [this](const std::string& reason) {
          log_.run_stop("aborted", reason);
          if (doors_.on_failure) doors_.on_failure(reason);
        }) {}

  RunOutcome go(const CacheClearing& caches);

 private:
  void initialize(const CacheClearing& caches);
  void train_and_evaluate();
  /// The blocks of epochs between evaluations; false when the run is over.
  bool run_block(std::int64_t first_epoch_num, std::int64_t last_epoch_num);
  /// An epoch that is evaluated on the way: each part is a block. False when the run is over.
  bool run_cut_epoch(std::int64_t epoch_num, std::int64_t period_steps);
  /// False when the run is over, as it is after an evaluation that closed it.
  bool leave_block(bool is_open);
  void begin_epoch(std::int64_t epoch_num);
  /// Trains up to step `last` of the epoch and compares replicas; false when the run is over.
  bool train_until(std::int64_t epoch_num, std::int64_t last);
  void log_epoch(std::int64_t epoch_num);
  void finish_epoch(std::int64_t epoch_num);
  double epochs_done(std::int64_t unfinished = 0) const;  ///< but for steps of an unfinished part
  bool evaluate();
  bool reached_target();
  bool stage();  ///< false: the run is over
  /// Goes on where a checkpoint was written, if there is one.
  void resume();
  /// Saves the run when somebody asked for it or its steps are due.
  void save_if_wanted();
  void save();
  /// True when the run goes on; else the outcome says why not, and what a signal stopped is saved.
  /// `ns_per_step` sets the next cut.
  bool goes_on(bool finite, double ns_per_step);
  bool end(RunStatus status, std::string reason);  ///< false: the run is over
  /// Whether epochs are cut and an evaluation is due here: a signal may have come before it.
  bool is_evaluation_due(std::int64_t period_steps) const;
  double evaluation_epoch() const;  ///< as logged
  void compare_replicas(std::int64_t epoch_num);
  std::int64_t steps_to_next_cut(std::int64_t last) const;
  double since_start_s() const;  ///< with the earlier parts of a resumed run
  void log_stop(const std::string& reason) noexcept;
  void finish();

  const RunConfig& config_;
  Workload& workload_;
  const RunDoors& doors_;
  RunLog log_;
  RunProgress progress_;
  Watchdog::LastWords last_words_;
  RunOutcome outcome_;
  std::int64_t started_ns_ = 0;
  RunPosition at_;
  bool checkpoint_wanted_ = false;
  std::int64_t saved_steps_ = 0;  ///< that a checkpoint has; a run that has not begun needs none
  std::int64_t steps_at_once_ = 1;
  double samples_per_s_ = 0.0;
  std::int64_t epoch_began_ns_ = 0;
  std::int64_t earlier_samples_ = 0;  ///< of the epoch before the checkpoint, in a resumed run
  double learning_rate_ = 0.0;        ///< of the last step
};

RunOutcome Run::go(const CacheClearing& caches) {
  const Accounting accounting = doors_.world.account_to(doors_.telemetry);
  try {
    initialize(caches);
    train_and_evaluate();
    finish();
  } catch (const AgreedError& e) {
    log_stop(e.what());
    throw;
  } catch (const std::exception& e) {
    const std::string message = base::failure_of(e).message;
    log_stop(message);
    if (doors_.watchdog != nullptr) doors_.watchdog->report_failure(message);
    throw;
  }
  return std::move(outcome_);
}

void Run::log_stop(const std::string& reason) noexcept {
  try {
    log_.run_stop("aborted", reason);
  } catch (const std::exception& e) {
    // The failure under way is the one to end with.
    doors_.console.warn(fmt::format("the log is left without run_stop: {}", e.what()));
  }
}

void Run::initialize(const CacheClearing& caches) {
  const int ranks = doors_.world.size();
  const int nodes = doors_.topology.node_count;
  progress_.enter("initialisation");
  log_.submission(config_, workload_.info(), nodes);
  log_.caches(caches);
  log_.init_start();
  workload_.open_data();
  if (doors_.resume != nullptr) require_same_data(*doors_.resume, workload_.info());
  workload_.initialize();
  outcome_.target = workload_.info().target;
  if (config_.has_target) outcome_.target.value = config_.target_quality;
  log_.setup(config_, workload_, outcome_.target, ranks, nodes);
  // The slowest rank's initialisation belongs to init, not to the run.
  doors_.world.barrier();
  log_.init_stop();
}

void Run::train_and_evaluate() {
  if (doors_.before_start) {
    progress_.enter("wait for the common start");
    doors_.before_start();
  }
  log_.run_start();
  doors_.telemetry.restart();
  started_ns_ = doors_.telemetry.now_ns();
  resume();
  end(RunStatus::kTargetMissed, fmt::format("the target {} was not reached in {} epochs",
                                            outcome_.target.value, config_.epochs));
  if (!goes_on(true, 0.0) || !stage()) return;
  if (reached_target()) return;  // a resumed run whose target is lower now
  progress_.begin(at_.steps_done);
  while (at_.epoch_num <= config_.epochs) {
    const std::int64_t last = std::min(config_.evaluation.next_due(at_.epoch_num), config_.epochs);
    if (!run_block(at_.epoch_num, last)) return;
  }
}

void Run::resume() {
  if (doors_.resume != nullptr) at_ = doors_.resume->record.position;
  saved_steps_ = at_.steps_done;
  doors_.world.activity().set_steps(at_.steps_done);  // those of an earlier run of a set end here
  if (doors_.resume == nullptr) return;
  progress_.enter("reading of the checkpoint");
  log_.resumed(doors_.resume->path, at_);
  const Scope scope(doors_.telemetry, Subsystem::kCheckpoint);
  workload_.restore(*doors_.resume->arrays, at_.steps_done);
  const std::int64_t period = config_.evaluation.period_steps(workload_.info().steps_per_epoch);
  outcome_.epochs = epochs_done(period > 0 ? at_.steps_in_epoch % period : at_.steps_in_epoch);
  outcome_.earlier_s = at_.elapsed_s;
  outcome_.evaluations = at_.evaluations;
}

void Run::save_if_wanted() {
  Checkpointer* checkpointer = doors_.checkpointer;
  if (checkpointer == nullptr) return;
  if (checkpoint_wanted_ || checkpointer->is_due(at_.steps_done)) save();
}

void Run::save() {
  progress_.enter("checkpoint");
  const Scope scope(doors_.telemetry, Subsystem::kCheckpoint);
  at_.elapsed_s = since_start_s();
  at_.evaluations = outcome_.evaluations;
  log_.save_start(at_.steps_done);
  doors_.checkpointer->save(at_, workload_);
  log_.save_stop(at_.steps_done);
  checkpoint_wanted_ = false;
  saved_steps_ = at_.steps_done;
}

bool Run::reached_target() {
  if (outcome_.evaluations.empty()) return false;
  if (!outcome_.target.met_by(outcome_.evaluations.back().quality)) return false;
  outcome_.status = RunStatus::kSuccess;
  outcome_.reason.clear();
  return true;
}

bool Run::stage() {
  progress_.enter("staging");
  log_.staging_start();
  try {
    const Scope scope(doors_.telemetry, Subsystem::kStaging);
    outcome_.staging = workload_.stage();
    // Until the last node is ready nobody can train: that wait is staging too.
    doors_.world.barrier();
  } catch (const AgreedError& e) {
    if (e.code() != base::ExitCode::kStopped) throw;
    return goes_on(true, 0.0);
  }
  log_.staging_stop(outcome_.staging);
  return goes_on(true, 0.0);
}

bool Run::run_block(std::int64_t first_epoch_num, std::int64_t last_epoch_num) {
  const std::int64_t period = config_.evaluation.period_steps(workload_.info().steps_per_epoch);
  if (period > 0) return run_cut_epoch(first_epoch_num, period);
  const auto first = static_cast<double>(first_epoch_num);
  const auto count = static_cast<double>(last_epoch_num - first_epoch_num + 1);
  log_.block_start(first, count);
  for (std::int64_t epoch_num = first_epoch_num; epoch_num <= last_epoch_num; ++epoch_num) {
    begin_epoch(epoch_num);
    if (!train_until(epoch_num, workload_.info().steps_per_epoch)) return false;
    finish_epoch(epoch_num);
    if (epoch_num < last_epoch_num) save_if_wanted();
  }
  // The last epochs may come after the last evaluation that is due.
  const bool due = config_.evaluation.next_due(last_epoch_num) == last_epoch_num;
  const bool is_open = !due || evaluate();
  log_.block_stop(first, count);
  return leave_block(is_open);
}

bool Run::leave_block(bool is_open) {
  if (!is_open || (at_.epoch_num <= config_.epochs && !goes_on(true, 0.0))) return false;
  save_if_wanted();
  return true;
}

bool Run::run_cut_epoch(std::int64_t epoch_num, std::int64_t period_steps) {
  const std::int64_t steps = workload_.info().steps_per_epoch;
  begin_epoch(epoch_num);
  while (at_.steps_in_epoch < steps || is_evaluation_due(period_steps)) {
    const std::int64_t ahead = is_evaluation_due(period_steps) ? 0 : 1;
    const std::int64_t due = (at_.steps_in_epoch / period_steps + ahead) * period_steps;
    const std::int64_t last = std::min(due, steps);
    const double first_epoch_num = 1.0 + epochs_done();
    const double count =
        static_cast<double>(last - at_.steps_in_epoch) / static_cast<double>(steps);
    log_.block_start(first_epoch_num, count);
    if (!train_until(epoch_num, last)) return false;
    outcome_.epochs = epochs_done();
    const bool is_open = last < due || evaluate();
    log_.block_stop(first_epoch_num, count);
    if (is_open && at_.steps_in_epoch == steps) break;
    if (!leave_block(is_open)) {
      log_epoch(epoch_num);
      return false;
    }
  }
  finish_epoch(epoch_num);
  return leave_block(true);
}

void Run::begin_epoch(std::int64_t epoch_num) {
  log_.epoch_start(epoch_num);
  epoch_began_ns_ = doors_.telemetry.now_ns();
  earlier_samples_ = at_.samples;
}

bool Run::train_until(std::int64_t epoch_num, std::int64_t last) {
  while (at_.steps_in_epoch < last) {
    progress_.enter(base::kTrainingPhase);
    const std::int64_t steps = steps_to_next_cut(last);
    const std::int64_t cut_ns = doors_.telemetry.now_ns();
    const TrainResult result = workload_.train(steps);
    const auto took_ns = static_cast<double>(doors_.telemetry.now_ns() - cut_ns);
    learning_rate_ = result.learning_rate;
    at_.steps_in_epoch += steps;
    at_.steps_done += steps;
    doors_.world.activity().set_steps(at_.steps_done);
    at_.loss_sum += result.mean_loss * static_cast<double>(result.samples);
    at_.samples += result.samples;
    samples_per_s_ = static_cast<double>(result.samples) / std::max(took_ns, 1.0) * kNsPerS;
    if (!goes_on(std::isfinite(result.mean_loss), took_ns / static_cast<double>(steps))) {
      return false;
    }
    progress_.trained({epoch_num, config_.epochs, at_.steps_done,
                       config_.epochs * workload_.info().steps_per_epoch, samples_per_s_,
                       result.mean_loss});
    // At the last step after the evaluation, so that a resumed run need not repeat that.
    if (at_.steps_in_epoch < last) save_if_wanted();
  }
  compare_replicas(epoch_num);
  return true;
}

void Run::log_epoch(std::int64_t epoch_num) {
  const double epoch_s =
      static_cast<double>(std::max<std::int64_t>(doors_.telemetry.now_ns() - epoch_began_ns_, 1)) /
      kNsPerS;
  const EpochFacts facts{epoch_num, at_.steps_done,
                         at_.loss_sum / static_cast<double>(std::max<std::int64_t>(at_.samples, 1)),
                         learning_rate_,
                         static_cast<double>(at_.samples - earlier_samples_) / epoch_s};
  log_.epoch_stop(facts);
  if (facts.samples_per_s == 0.0) return;
  doors_.console.info(
      fmt::format("epoch {}/{}  loss {:.4f}  learning rate {:.5g}  {:.1f} samples/s", epoch_num,
                  config_.epochs, facts.mean_loss, facts.learning_rate, facts.samples_per_s));
}

void Run::finish_epoch(std::int64_t epoch_num) {
  log_epoch(epoch_num);
  outcome_.epochs = static_cast<double>(epoch_num);
  at_.epoch_num = epoch_num + 1;
  at_.steps_in_epoch = at_.samples = 0;
  at_.loss_sum = 0.0;
}

std::int64_t Run::steps_to_next_cut(std::int64_t last) const {
  std::int64_t steps = last - at_.steps_in_epoch;
  if (doors_.checkpointer != nullptr) {
    steps = std::min(steps, doors_.checkpointer->steps_until_due(at_.steps_done));
  }
  return std::min(steps, steps_at_once_);
}

bool Run::goes_on(bool finite, double ns_per_step) {
  Checkpointer* checkpointer = doors_.checkpointer;
  const bool wants_checkpoint = checkpointer != nullptr && checkpointer->wanted_here();
  const std::string broken = doors_.rule_broken ? doors_.rule_broken() : "";
  const Votes votes = agree(doors_.world, {finite, doors_.stop_requested(), wants_checkpoint,
                                           ns_per_step, !broken.empty()});
  checkpoint_wanted_ = checkpoint_wanted_ || votes.wants_checkpoint;
  if (votes.ns_per_step > 0) {
    steps_at_once_ = std::max<std::int64_t>(1, std::llround(kAgreeEveryNs / votes.ns_per_step));
  }
  if (!votes.is_finite) {
    return end(RunStatus::kDiverged,
               fmt::format("the loss is not finite at step {}", at_.steps_done));
  }
  if (votes.stop != StopSignal::kNone) {
    const bool is_to_be_saved = checkpoint_wanted_ || config_.checkpoint.is_scheduled() ||
                                votes.stop == StopSignal::kSaveAndEnd;
    if (checkpointer != nullptr && is_to_be_saved && at_.steps_done > saved_steps_) save();
    return end(RunStatus::kStopped,
               fmt::format("stopped by {} after step {}", to_string(votes.stop), at_.steps_done));
  }
  if (votes.breaks_a_rule) {
    return end(RunStatus::kRuleBroken, doors_.world.broadcast("--rules strict: " + broken, 0));
  }
  return true;
}

bool Run::end(RunStatus status, std::string reason) {
  outcome_.status = status;
  outcome_.reason = std::move(reason);
  return false;
}

bool Run::is_evaluation_due(std::int64_t period_steps) const {
  if (at_.steps_in_epoch == 0 || at_.steps_in_epoch % period_steps != 0) return false;
  return outcome_.evaluations.empty() ||
         outcome_.evaluations.back().epoch_num != evaluation_epoch();
}

double Run::evaluation_epoch() const { return epochs_done() + workload_.info().epoch_num_offset; }

double Run::epochs_done(std::int64_t unfinished) const {
  return static_cast<double>(at_.epoch_num - 1) +
         static_cast<double>(at_.steps_in_epoch - unfinished) /
             static_cast<double>(workload_.info().steps_per_epoch);
}

bool Run::evaluate() {
  progress_.enter("evaluation");
  const double epoch_num = evaluation_epoch();
  log_.eval_start(epoch_num);
  double quality = 0.0;
  {
    const Scope scope(doors_.telemetry, Subsystem::kEvaluation);
    quality = workload_.evaluate(nullptr);
    // One bit of difference between ranks must not let some go on and others stop.
    doors_.world.broadcast(std::as_writable_bytes(std::span(&quality, 1)), 0);
  }
  log_.eval_stop(epoch_num, outcome_.target, quality);
  outcome_.evaluations.push_back({epoch_num, quality, since_start_s()});
  const std::string when = fmt::format("epoch {:.6g}/{}", epochs_done(), config_.epochs);
  doors_.console.info(
      fmt::format("{}  quality {:.5g} (target {:.5g})", when, quality, outcome_.target.value));
  if (!std::isfinite(quality)) {
    return end(RunStatus::kDiverged, fmt::format("the quality is not finite after {}", when));
  }
  return !reached_target();
}

void Run::compare_replicas(std::int64_t epoch_num) {
  const std::string differing = drifted_ranks(doors_.world, workload_.replica_hash());
  if (differing.empty()) return;
  const std::string message =
      fmt::format("after step {} of epoch {} the parameters of ranks {} differ from rank 0's",
                  at_.steps_in_epoch, epoch_num, differing);
  // All ranks throw, and any of them may end the job: rank 0 logs first.
  log_.run_stop("aborted", message);
  doors_.world.barrier();
  throw AgreedError(base::ExitCode::kInternal, message);
}

double Run::since_start_s() const {
  return outcome_.earlier_s +
         static_cast<double>(doors_.telemetry.now_ns() - started_ns_) / kNsPerS;
}

void Run::finish() {
  outcome_.run_s = since_start_s() - outcome_.earlier_s;
  const bool success = outcome_.status == RunStatus::kSuccess;
  const bool told = log_.run_stop(success ? "success" : "aborted", outcome_.reason);
  // The watchdog may have been faster, and what the log says holds.
  if (doors_.world.allreduce_max(std::int64_t{doors_.world.rank() == 0 && !told ? 1 : 0}) != 0 &&
      success) {
    end(RunStatus::kStopped, "told to end by a signal");
  }
  outcome_.telemetry_entry = telemetry::rank_entry(doors_.identity, doors_.telemetry);
}

}  // namespace

RunOutcome run_once(const RunConfig& config, Workload& workload, const CacheClearing& caches,
                    const RunDoors& doors) {
  return Run(config, workload, doors).go(caches);
}

}  // namespace runner

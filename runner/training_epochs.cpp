// Blocks, epochs, steps and evaluations.
#include "runner/training_epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "runner/agreed_error.h"
#include "runner/base/units.h"
#include "runner/drifted_ranks.h"

namespace runner {
void TrainingEpochs::go() {
  run_.progress.begin(run_.at.steps_done);
  const EvaluationConfig& evaluation = run_.config.evaluation;
  while (run_.at.epoch_num <= run_.config.epochs) {
    const std::int64_t last = std::min(evaluation.next_due(run_.at.epoch_num), run_.config.epochs);
    if (!run_block(run_.at.epoch_num, last)) return;
  }
}

bool TrainingEpochs::run_block(std::int64_t first_epoch_num, std::int64_t last_epoch_num) {
  const std::int64_t period = run_.steps_between_evaluations();
  if (period > 0) return run_cut_epoch(first_epoch_num, period);
  const auto first = static_cast<double>(first_epoch_num);
  const auto count = static_cast<double>(last_epoch_num - first_epoch_num + 1);
  run_.log.block_start(first, count);
  for (std::int64_t epoch_num = first_epoch_num; epoch_num <= last_epoch_num; ++epoch_num) {
    begin_epoch(epoch_num);
    if (!train_until(epoch_num, run_.workload.info().steps_per_epoch)) return false;
    finish_epoch(epoch_num);
    if (epoch_num < last_epoch_num) control_.save_if_wanted();
  }
  // The last epochs may follow the last evaluation due.
  const bool due = run_.config.evaluation.next_due(last_epoch_num) == last_epoch_num;
  const bool is_open = !due || evaluate();
  run_.log.block_stop(first, count);
  return leave_block(is_open);
}

bool TrainingEpochs::leave_block(bool is_open) {
  if (!is_open || (run_.at.epoch_num <= run_.config.epochs && !control_.goes_on())) return false;
  control_.save_if_wanted();
  return true;
}

bool TrainingEpochs::run_cut_epoch(std::int64_t epoch_num, std::int64_t period_steps) {
  const std::int64_t steps = run_.workload.info().steps_per_epoch;
  begin_epoch(epoch_num);
  while (run_.at.steps_in_epoch < steps || is_evaluation_due(period_steps)) {
    const std::int64_t ahead = is_evaluation_due(period_steps) ? 0 : 1;
    const std::int64_t due = (run_.at.steps_in_epoch / period_steps + ahead) * period_steps;
    const std::int64_t last = std::min(due, steps);
    const double first_epoch_num = 1.0 + run_.epochs_done();
    const double count =
        static_cast<double>(last - run_.at.steps_in_epoch) / static_cast<double>(steps);
    // Before an evaluation that is due on resuming nothing is left to train, and the rules want
    // blocks of more than 0 epochs.
    const bool is_block = last > run_.at.steps_in_epoch;
    if (is_block) run_.log.block_start(first_epoch_num, count);
    if (!train_until(epoch_num, last)) return false;
    run_.outcome.epochs = run_.epochs_done();
    const bool is_open = last < due || evaluate();
    if (is_block) run_.log.block_stop(first_epoch_num, count);
    if (is_open && run_.at.steps_in_epoch == steps) break;
    if (!leave_block(is_open)) {
      log_epoch(epoch_num);
      return false;
    }
  }
  finish_epoch(epoch_num);
  return leave_block(true);
}

void TrainingEpochs::begin_epoch(std::int64_t epoch_num) {
  run_.log.epoch_start(epoch_num);
  epoch_began_ns_ = run_.doors.telemetry.now_ns();
  earlier_samples_ = run_.at.samples;
}

bool TrainingEpochs::train_until(std::int64_t epoch_num, std::int64_t last) {
  RunPosition& at = run_.at;
  while (at.steps_in_epoch < last) {
    run_.progress.enter(base::kTrainingPhase);
    const std::int64_t steps = control_.steps_to_next_cut(last);
    const std::int64_t cut_ns = run_.doors.telemetry.now_ns();
    const TrainResult result = run_.workload.train(steps);
    const auto took_ns = static_cast<double>(run_.doors.telemetry.now_ns() - cut_ns);
    run_.finish_staging(StagingEnd::kWhenCopied);
    learning_rate_ = result.learning_rate;
    at.steps_in_epoch += steps;
    at.steps_done += steps;
    run_.doors.world.activity().set_steps(at.steps_done);
    at.loss_sum += result.mean_loss * static_cast<double>(result.samples);
    at.samples += result.samples;
    samples_per_s_ =
        static_cast<double>(result.samples) / std::max(took_ns, 1.0) * base::kNsPerSecond;
    if (!control_.goes_on(std::isfinite(result.mean_loss), took_ns / static_cast<double>(steps))) {
      return false;
    }
    run_.progress.trained({epoch_num, run_.config.epochs, at.steps_done,
                           run_.config.epochs * run_.workload.info().steps_per_epoch,
                           samples_per_s_, result.mean_loss});
    // At the last step, save only after the evaluation, so that a resumed run need not repeat it.
    if (at.steps_in_epoch < last) control_.save_if_wanted();
  }
  compare_replicas(epoch_num);
  return true;
}

void TrainingEpochs::log_epoch(std::int64_t epoch_num) {
  const RunPosition& at = run_.at;
  const double epoch_s = static_cast<double>(std::max<std::int64_t>(
                             run_.doors.telemetry.now_ns() - epoch_began_ns_, 1)) /
                         base::kNsPerSecond;
  const EpochFacts facts{epoch_num, at.steps_done,
                         at.loss_sum / static_cast<double>(std::max<std::int64_t>(at.samples, 1)),
                         learning_rate_,
                         static_cast<double>(at.samples - earlier_samples_) / epoch_s};
  run_.log.epoch_stop(facts);
  if (facts.samples_per_s == 0.0) return;
  run_.doors.console.info(
      fmt::format("epoch {}/{}  loss {:.4f}  learning rate {:.5g}  {:.1f} samples/s", epoch_num,
                  run_.config.epochs, facts.mean_loss, facts.learning_rate, facts.samples_per_s));
}

void TrainingEpochs::finish_epoch(std::int64_t epoch_num) {
  log_epoch(epoch_num);
  RunPosition& at = run_.at;
  run_.outcome.epochs = static_cast<double>(epoch_num);
  at.epoch_num = epoch_num + 1;
  at.steps_in_epoch = at.samples = 0;
  at.loss_sum = 0.0;
}

bool TrainingEpochs::is_evaluation_due(std::int64_t period_steps) const {
  if (run_.at.steps_in_epoch == 0 || run_.at.steps_in_epoch % period_steps != 0) return false;
  return run_.outcome.evaluations.empty() ||
         run_.outcome.evaluations.back().epoch_num != evaluation_epoch();
}

double TrainingEpochs::evaluation_epoch() const {
  return run_.epochs_done() + run_.workload.info().epoch_num_offset;
}

bool TrainingEpochs::evaluate() {
  run_.progress.enter("evaluation");
  const double epoch_num = evaluation_epoch();
  run_.log.eval_start(epoch_num);
  double quality = 0.0;
  {
    const telemetry::Scope scope(run_.doors.telemetry, telemetry::Subsystem::kEvaluation);
    quality = run_.workload.evaluate(nullptr);
    // A difference of one bit between ranks must not let some go on and others stop.
    run_.doors.world.broadcast(std::as_writable_bytes(std::span(&quality, 1)), 0);
  }
  run_.log.eval_stop(epoch_num, run_.outcome.target, quality);
  run_.outcome.evaluations.push_back({epoch_num, quality, run_.since_start_s()});
  const std::string when = fmt::format("epoch {:.6g}/{}", run_.epochs_done(), run_.config.epochs);
  run_.doors.console.info(fmt::format("{}  quality {:.5g} (target {:.5g})", when, quality,
                                      run_.outcome.target.main().value));
  if (!std::isfinite(quality)) {
    return run_.end(RunStatus::kDiverged, fmt::format("the quality is not finite after {}", when));
  }
  return !run_.reached_target();
}

void TrainingEpochs::compare_replicas(std::int64_t epoch_num) {
  const std::string differing = drifted_ranks(run_.doors.world, run_.workload.replica_hash());
  if (differing.empty()) return;
  const std::string message =
      fmt::format("after step {} of epoch {} the parameters of ranks {} differ from rank 0's",
                  run_.at.steps_in_epoch, epoch_num, differing);
  // All ranks throw, and any of them may end the job: rank 0 logs first.
  run_.log.run_stop("aborted", message);
  run_.doors.world.barrier();
  throw AgreedError(base::ExitCode::kInternal, message);
}

}  // namespace runner

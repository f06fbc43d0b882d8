// The run loop: everything before the first step and after the last.
#include "runner/run_loop.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <utility>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/units.h"
#include "runner/remarks.h"
#include "runner/run_control.h"
#include "runner/run_state.h"
#include "runner/training_epochs.h"

namespace runner {
namespace {

class Run {
 public:
  Run(const RunConfig& config, Workload& workload, const RunDoors& doors)
      : run_(config, workload, doors),
        last_words_(doors.watchdog,
                    [this](const std::string& reason) {
                      run_.log.run_stop("aborted", reason);
                      if (const auto problem = run_.log.problem(); !problem.empty()) {
                        throw base::SystemError(problem);
                      }
                      if (run_.doors.on_failure) run_.doors.on_failure(reason);
                    }),
        control_(run_),
        epochs_(run_, control_) {}

  RunOutcome go(const CacheClearing& caches);

 private:
  void initialize(const CacheClearing& caches);
  void train_and_evaluate();
  bool stage();  ///< false: the run is over
  /// Adds what was noticed about the data to the outcome.
  void add_remarks();
  void log_stop(const std::string& reason);
  void finish();
  void warn_of_clock() const;

  RunState run_;
  Watchdog::LastWords last_words_;
  RunControl control_;
  TrainingEpochs epochs_;
};

RunOutcome Run::go(const CacheClearing& caches) {
  const Accounting accounting = run_.doors.world.account_to(run_.doors.telemetry);
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
    if (run_.doors.watchdog != nullptr) run_.doors.watchdog->report_failure(message);
    throw;
  }
  return std::move(run_.outcome);
}

void Run::log_stop(const std::string& reason) {
  run_.log.run_stop("aborted", reason);
  // The failure in progress takes precedence.
  const std::string problem = run_.log.problem();
  if (!problem.empty() && reason.find(problem) == std::string::npos) {
    run_.doors.console.warn(fmt::format("the log lacks records: {}", problem));
  }
}

void Run::initialize(const CacheClearing& caches) {
  const int ranks = run_.doors.world.size();
  const int nodes = run_.doors.topology.node_count;
  run_.progress.enter("initialisation");
  run_.log.submission(run_.config, run_.workload.info(), nodes);
  run_.log.caches(caches);
  run_.log.init_start();
  if (run_.doors.try_storage) run_.doors.try_storage();
  run_.workload.open_data();
  if (run_.doors.resume != nullptr) require_same_data(*run_.doors.resume, run_.workload.info());
  run_.workload.initialize();
  run_.outcome.target = run_.workload.info().target;
  if (run_.config.has_target) run_.outcome.target.parts.front().value = run_.config.target_quality;
  run_.log.setup(run_.config, run_.workload, run_.outcome.target, ranks, nodes);
  // The wait for the slowest rank's initialisation belongs to init, not to the run.
  run_.doors.world.barrier();
  run_.log.init_stop();
}

void Run::train_and_evaluate() {
  if (run_.doors.before_start) {
    run_.progress.enter("wait for the common start");
    run_.doors.before_start();
  }
  run_.log.run_start();
  run_.doors.telemetry.restart();
  run_.started_ns = run_.doors.telemetry.now_ns();
  control_.resume();
  run_.end(RunStatus::kTargetMissed,
           fmt::format("the target {} was not reached in {} epochs",
                       run_.outcome.target.main().value, run_.config.epochs));
  if (!control_.goes_on()) return;
  // A resumed run with a lower target trains no more.
  if (stage() && !run_.reached_target()) epochs_.go();
  run_.finish_staging(StagingEnd::kNow);
}

bool Run::stage() {
  run_.progress.enter("staging");
  run_.log.staging_start();
  nlohmann::json facts;
  try {
    const telemetry::Scope scope(run_.doors.telemetry, telemetry::Subsystem::kStaging);
    if (run_.doors.look_at_data) run_.cached_data = run_.doors.look_at_data();
    facts = run_.workload.stage();
    // Nobody can train until the last node is ready, so this wait counts as staging.
    run_.doors.world.barrier();
  } catch (const AgreedError& e) {
    if (e.code() != base::ExitCode::kStopped) throw;
    return control_.goes_on();
  }
  run_.stages_meanwhile = facts.is_null();
  if (run_.stages_meanwhile) {
    run_.doors.console.info("samples are copied while training");
  } else {
    run_.staging_ended(std::move(facts));
  }
  add_remarks();
  return control_.goes_on();
}

void Run::add_remarks() {
  const auto remarks = report_remarks(run_.doors.world, run_.workload, run_.doors.console);
  std::vector<std::string>& all = run_.outcome.remarks;
  all.insert(all.end(), remarks.begin(), remarks.end());
}

void Run::finish() {
  run_.outcome.run_s = run_.since_start_s() - run_.outcome.earlier_s;
  const std::string problem = run_.log.problem();
  const bool success = run_.outcome.status == RunStatus::kSuccess && problem.empty();
  const bool is_stop_logged = run_.log.run_stop(success ? "success" : "aborted",
                                                problem.empty() ? run_.outcome.reason : problem);
  // There is no result without its log.
  const std::int64_t lacks_records = run_.log.problem().empty() ? 0 : 1;
  if (run_.doors.world.allreduce_max(lacks_records) != 0) control_.end_without_log();
  // The watchdog may have written run_stop first; the log then decides.
  const std::int64_t overtaken = run_.doors.world.rank() == 0 && !is_stop_logged ? 1 : 0;
  if (run_.doors.world.allreduce_max(overtaken) != 0 && success) {
    run_.end(RunStatus::kStopped, "ended by a signal");
  }
  run_.outcome.telemetry_entry = telemetry::rank_entry(run_.doors.identity, run_.doors.telemetry);
  warn_of_clock();
  add_remarks();
}

void Run::warn_of_clock() const {
  constexpr double kLeastS = 0.5;
  const double step_s = static_cast<double>(run_.doors.log.clock_step_ms()) / base::kMsPerSecond;
  if (std::abs(step_s) < kLeastS) return;
  run_.doors.console.warn(fmt::format(
      "the calendar clock was set {} by {:.1f} s during the run: the log goes on by the steady "
      "clock, so that its durations are right, but other hosts and files have other times",
      step_s > 0.0 ? "forward" : "back", std::abs(step_s)));
}

}  // namespace

RunOutcome run_once(const RunConfig& config, Workload& workload, const CacheClearing& caches,
                    const RunDoors& doors) {
  return Run(config, workload, doors).go(caches);
}

}  // namespace runner

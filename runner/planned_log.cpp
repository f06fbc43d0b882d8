// The log of a run that goes well.
#include "runner/planned_log.h"

#include <algorithm>
#include <vector>

#include "runner/run_log.h"

namespace runner {
namespace {

/// Enough to show the schedule of evaluations.
constexpr std::int64_t kMostEvaluations = 5;
constexpr double kFarFromTarget = 0.5;

class MemorySink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override { text += line + "\n"; }
  std::string text;
};

/// Advances by a second with each record.
class RecordClock final : public base::Clock {
 public:
  explicit RecordClock(std::int64_t first_ms) : first_ms_(first_ms) {}
  std::int64_t steady_ns() const override {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    return next_ns_ += kSecondNs;
  }
  std::int64_t unix_ms() const override { return first_ms_; }

 private:
  const std::int64_t first_ms_;
  mutable std::int64_t next_ns_ = 0;
};

/// The epochs completed at each of the first evaluations.
std::vector<double> evaluated_after(const RunConfig& config, std::int64_t steps_per_epoch) {
  std::vector<double> epochs;
  const std::int64_t period = config.evaluation.period_steps(steps_per_epoch);
  const std::int64_t in_epoch = period > 0 ? steps_per_epoch / period : 0;
  for (std::int64_t i = 0; i < std::min(in_epoch, kMostEvaluations); ++i) {
    epochs.push_back(static_cast<double>((i + 1) * period) / static_cast<double>(steps_per_epoch));
  }
  if (period > 0) return epochs;
  for (std::int64_t due = config.evaluation.next_due(1);
       due <= config.epochs && static_cast<std::int64_t>(epochs.size()) < kMostEvaluations;
       due = config.evaluation.next_due(due + 1)) {
    epochs.push_back(static_cast<double>(due));
  }
  return epochs;
}

/// A quality that misses the target.
double missed(const mllog::QualityTarget& target) {
  const double value = target.main().value;
  return target.main().direction == mllog::Direction::kRises ? value * kFarFromTarget
                                                             : value / kFarFromTarget;
}

void train(RunLog& log, const RunConfig& config, const WorkloadInfo& info,
           const mllog::QualityTarget& target) {
  const std::vector<double> evaluations = evaluated_after(config, info.steps_per_epoch);
  double done = 0.0;
  std::int64_t epoch_num = 0;
  for (const double epochs : evaluations) {
    log.block_start(1.0 + done, epochs - done);
    if (static_cast<std::int64_t>(done) + 1 > epoch_num) log.epoch_start(++epoch_num);
    const double logged = epochs + info.epoch_num_offset;
    log.eval_start(logged);
    log.eval_stop(logged, target,
                  epochs == evaluations.back() ? target.main().value : missed(target));
    log.block_stop(1.0 + done, epochs - done);
    done = epochs;
  }
  log.epoch_stop({.epoch_num = epoch_num, .steps_done = epoch_num * info.steps_per_epoch});
}

}  // namespace

std::string planned_log(const RunConfig& file, const Workload& workload, int ranks, int nodes,
                        const base::Clock& clock) {
  RunConfig config = file;
  if (config.seed == 0) config.seed = 1;  // the real seed is drawn later, and is never 0
  const WorkloadInfo& info = workload.info();
  mllog::QualityTarget target = info.target;
  if (config.has_target) target.parts.front().value = config.target_quality;
  MemorySink sink;
  const RecordClock times(clock.unix_ms());
  mllog::LogWriter writer(&sink, times);
  RunLog log(writer);
  log.submission(config, info, nodes);
  log.caches({config.clear_caches != "never", "planned"});
  log.init_start();
  log.setup(config, workload, target, ranks, nodes);
  log.init_stop();
  log.run_start();
  log.staging_start();
  log.staging_stop(nlohmann::json::object());
  train(log, config, info, target);
  log.run_stop("success", "");
  return sink.text;
}

}  // namespace runner

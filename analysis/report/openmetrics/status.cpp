// Metrics of runs in progress.
#include "analysis/report/openmetrics/status.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "runner/base/printable.h"

namespace analysis::report {
namespace {

/// In quotes, with escaped backslashes and quotes; line ends become blanks.
std::string label_text(const std::string& value) {
  std::string text = "\"";
  for (const char character : base::printable(value)) {
    if (character == '\\' || character == '"') text += '\\';
    text += character;
  }
  return text + '"';
}

std::string gauge_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string labels_of(const LiveRun& run) {
  return fmt::format("log={},workload={},host={}", label_text(run.log.string()),
                     label_text(run.workload), label_text(run.host));
}

class Metrics {
 public:
  explicit Metrics(const std::vector<LiveRun>& runs) : runs_(runs) {}

  /// A gauge that each run has once, if it has it.
  void add(const std::string& name, const std::string& help,
           const std::function<std::optional<double>(const LiveRun&)>& value) {
    std::string lines;
    for (const LiveRun& run : runs_) {
      if (const auto found = value(run)) add_line(lines, name, labels_of(run), *found);
    }
    add_family(name, help, lines);
  }
  void add_states() {
    constexpr LiveState kStates[] = {LiveState::kRunning, LiveState::kSilent, LiveState::kGone,
                                     LiveState::kEnded};
    std::string lines;
    for (const LiveRun& run : runs_) {
      for (const LiveState state : kStates) {
        add_line(lines, "trainmark_run_state",
                 fmt::format("{},state={}", labels_of(run), label_text(to_string(state))),
                 run.state == state ? 1.0 : 0.0);
      }
    }
    add_family("trainmark_run_state",
               "1 for the state that the run is in: running, silent, gone or ended", lines);
  }
  void add_parts() {
    std::string lines;
    for (const LiveRun& run : runs_) {
      for (const auto& [part, seconds] : run.parts) {
        add_line(lines, "trainmark_run_part_seconds",
                 fmt::format("{},part={}", labels_of(run), label_text(part)), seconds);
      }
    }
    add_family("trainmark_run_part_seconds",
               "seconds so far by rank 0's subsystem, or by part of the log", lines);
  }
  std::string text() const { return text_ + "# EOF\n"; }

 private:
  static void add_line(std::string& lines, const std::string& name, const std::string& labels,
                       double value) {
    lines += fmt::format("{}{{{}}} {}\n", name, labels, gauge_text(value));
  }
  void add_family(const std::string& name, const std::string& help, const std::string& lines) {
    if (lines.empty()) return;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{2}", name, help, lines);
  }

  const std::vector<LiveRun>& runs_;
  std::string text_;
};

std::optional<double> last_quality(const LiveRun& run) {
  const std::vector<Evaluation>& evaluations = run.facts.evaluations;
  if (evaluations.empty()) return std::nullopt;
  return evaluations.back().quality;
}

std::optional<double> expected_end(const LiveRun& run) {
  if (run.state != LiveState::kRunning || !run.outlook) return std::nullopt;
  return run.outlook->end_s;
}

std::optional<double> started(const LiveRun& run, double value) {
  return run.facts.run_start_ms ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string status_openmetrics(const std::vector<LiveRun>& runs) {
  Metrics metrics(runs);
  metrics.add_states();
  metrics.add("trainmark_run_sign_of_life_age_seconds",
              "seconds since the run's last record or live file",
              [](const LiveRun& run) { return run.sign_of_life_s; });
  metrics.add("trainmark_run_elapsed_seconds", "seconds since run_start, until run_stop",
              [](const LiveRun& run) { return started(run, run.standing.elapsed_s); });
  metrics.add("trainmark_run_epochs", "epochs trained so far",
              [](const LiveRun& run) { return started(run, run.standing.epochs_done); });
  metrics.add("trainmark_run_epochs_limit", "epochs that the configuration allows",
              [](const LiveRun& run) { return run.epochs; });
  metrics.add("trainmark_run_samples_per_second", "samples/s of all ranks over the last steps",
              [](const LiveRun& run) { return run.samples_per_s; });
  metrics.add("trainmark_run_loss", "mean loss of the last steps",
              [](const LiveRun& run) { return run.mean_loss; });
  metrics.add("trainmark_run_quality", "the benchmark's metric at the last evaluation",
              last_quality);
  metrics.add("trainmark_run_quality_target", "the quality that ends the run",
              [](const LiveRun& run) { return run.facts.target_value(); });
  metrics.add("trainmark_run_expected_end_seconds",
              "seconds from run_start to the target, as expected", expected_end);
  metrics.add("trainmark_run_time_to_train_seconds",
              "seconds from run_start to run_stop of a run that reached its target",
              [](const LiveRun& run) -> std::optional<double> {
                if (run.facts.outcome != Outcome::kSuccess) return std::nullopt;
                return run.standing.elapsed_s;
              });
  metrics.add_parts();
  return metrics.text();
}

}  // namespace analysis::report

// The text at the end of a run.
#include "runner/run_lines.h"

#include <fmt/format.h>

#include "runner/base/printable.h"
#include "runner/run_rules.h"

namespace runner {
namespace {

std::string result_line(const FinishedRun& run) {
  const RunOutcome& outcome = run.outcome;
  const bool success = outcome.status == RunStatus::kSuccess;
  const std::string quality =
      outcome.evaluations.empty() ? "none" : fmt::format("{}", outcome.evaluations.back().quality);
  // The total of a run in several parts is no time to train.
  const std::string resumed =
      run.resume == nullptr
          ? ""
          : fmt::format(" resumed_at_step={} all_parts_s={:.3f}",
                        run.resume->record.position.steps_done, outcome.earlier_s + outcome.run_s);
  return fmt::format(
      "RESULT benchmark={} metric=time_to_train value={} unit=s status={} quality={} epochs={:.6g} "
      "seed={}{}\n",
      base::printable(logged_benchmark(run.config, run.info.benchmark)),
      success && run.resume == nullptr ? fmt::format("{:.3f}", outcome.run_s) : "none",
      to_string(outcome.status), quality, outcome.epochs, run.config.seed, resumed);
}

}  // namespace

void print_run(const FinishedRun& run, std::ostream& out, Console& console) {
  const RunOutcome& outcome = run.outcome;
  if (outcome.status != RunStatus::kSuccess) console.warn(outcome.reason);
  out << result_line(run);
  const auto print_file = [&](const char* what, const std::string& path) {
    out << fmt::format("{:<11}{}\n", what, base::printable(path));
  };
  print_file("log:", run.files.log_path());
  print_file("config:", run.files.config_path());
  print_file("telemetry:", run.files.telemetry_path());
  if (run.has_weights) print_file("weights:", run.files.weights_path());
  if (!run.verdict.empty()) {
    out << "rules:     " << run.verdict
        << (run.resume == nullptr ? "" : "; a resumed run cannot be submitted") << '\n';
  }
  out << std::flush;
}

void print_trace(const TraceSummary& trace, const telemetry::StepRange& asked_for,
                 const std::string& path, std::ostream* out, Console& console) {
  if (out != nullptr)
    *out << "trace:     " << base::printable(path) << '\n' << trace.transfers << std::flush;
  if (trace.steps < asked_for.last - asked_for.first + 1) {
    console.warn(fmt::format("--trace {}:{}: the run had {} of these {} steps", asked_for.first,
                             asked_for.last, trace.steps, asked_for.last - asked_for.first + 1));
  }
  if (trace.dropped + trace.dropped_layers > 0) {
    console.warn(
        fmt::format("--trace: {} scopes and transfers and {} layers of all ranks are not in the "
                    "file, which keeps {} of each on a rank",
                    trace.dropped, trace.dropped_layers, telemetry::Trace::kMostEvents));
  }
}

}  // namespace runner

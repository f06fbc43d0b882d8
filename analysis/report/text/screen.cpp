// One run on one screen.
#include "analysis/report/text/screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "analysis/numbers.h"
#include "analysis/report/text/curve.h"
#include "analysis/report/text/run.h"
#include "analysis/report/text/staging.h"

namespace analysis::report {
namespace {

constexpr std::size_t kCurveColumns = 78, kCurveRows = 5;
constexpr std::size_t kScreenBarColumns = 40;
constexpr std::size_t kMostParts = 5;  ///< the others are one line
constexpr std::size_t kMostStragglers = 1;

void write_outcome(TextPage& page, const RunFacts& facts) {
  std::string text = to_string(facts.outcome);
  if (facts.best_quality) {
    text += fmt::format("; {} {}", page.defined("best", "best_quality"),
                        quality_text(facts.best_quality));
  }
  text += "; target " + target_text(facts);
  if (facts.resumed) text += "; resumed, so it cannot be submitted";
  page.fact("outcome", text, {"outcome", "target"});
}

void write_time(TextPage& page, const RunFacts& facts) {
  if (!facts.ttt_s) return;
  std::string text = seconds_text(*facts.ttt_s);
  if (facts.parts.staging_alone_s() > 0.0) {
    text += fmt::format(", {:.3f} s of it {}", facts.parts.staging_alone_s(),
                        page.defined("staging", "staging_alone_s"));
  }
  if (facts.other_unit) text += "; but time_ms is " + *facts.other_unit;
  page.fact("time to train", text, {"ttt_s"});
}

/// A line of those figures that the run has: "6 to target, 6 run, 20.08 s each".
class Line {
 public:
  explicit Line(TextPage& page) : page_(page) {}

  void add(const std::optional<double>& value, const char* what, const char* name) {
    if (value) parts_.push_back(short_number(value) + " " + page_.defined(what, name));
  }
  void write(const char* label) {
    if (!parts_.empty()) page_.fact(label, fmt::format("{}", fmt::join(parts_, ", ")), {});
  }

 private:
  TextPage& page_;
  std::vector<std::string> parts_;
};

void write_epochs(TextPage& page, const RunFacts& facts) {
  Line line(page);
  if (facts.counts_epochs()) {
    line.add(facts.progress.epochs_to_target, "to target", "epochs_to_target");
    line.add(facts.progress.epochs_run, "run", "epochs_run");
    line.add(facts.mean_epoch_s(), "s each", "mean_epoch_s");
    line.write("epochs");
  } else {
    line.add(facts.progress.samples_to_target, "to target", "samples_to_target");
    line.add(facts.progress.samples_run, "run", "samples_run");
    line.write("samples");
  }
}

void write_rates(TextPage& page, const RunFacts& facts) {
  Line line(page);
  line.add(facts.train_throughput, "in training", "train_throughput");
  line.add(facts.eval_throughput, "in evaluation", "eval_throughput");
  line.add(facts.run_throughput, "over the run", "run_throughput");
  line.write("samples/s");
}

void write_curve(TextPage& page, const RunFacts& facts) {
  const std::vector<std::string> lines = curve(facts, kCurveColumns, kCurveRows);
  if (lines.empty()) return;
  page.heading(fmt::format("Convergence: {} by {}", facts.metric_name(), position_heading(facts)),
               {"convergence", "evaluations"});
  for (const std::string& line : lines) page.line("  " + line);
}

/// The largest parts, and the rest as one.
void write_parts(TextPage& page, const Breakdown& breakdown, bool is_telemetry) {
  std::vector<const Part*> parts;
  for (const Part& part : breakdown.parts) {
    if (part.mean_s > 0.0) parts.push_back(&part);
  }
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const Part* one) { return one->mean_s; });
  const std::size_t shown = parts.size() > kMostParts + 1 ? kMostParts : parts.size();
  const auto write = [&](const std::string& name, double seconds, double percent) {
    page.line(fmt::format("  {:<12} {:>12.3f} s {:>5} %  {}", name, seconds, percent_text(percent),
                          bar(percent, kScreenBarColumns)));
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const Part& part = *parts[i];
    write(page.defined(part.name, is_telemetry ? part.name : "part " + part.name, part.definition),
          part.mean_s, part.percent.value_or(0.0));
  }
  double rest_s = 0.0, rest_percent = 0.0;
  for (std::size_t i = shown; i < parts.size(); ++i) {
    rest_s += parts[i]->mean_s;
    rest_percent += parts[i]->percent.value_or(0.0);
  }
  if (shown < parts.size()) {
    write(fmt::format("{} others", parts.size() - shown), rest_s, rest_percent);
  }
}

void write_where(TextPage& page, const RunReport& run) {
  if (run.telemetry) {
    write_time_heading(page, *run.telemetry);
    write_parts(page, run.telemetry->subsystems, true);
  } else if (run.log_parts) {
    page.heading("Where the time went, by the log's records", {"parts", "intervals"});
    write_parts(page, *run.log_parts, false);
  }
}

/// A line, or one more for a slow exchange and one for further ranks.
void write_waited_for(TextPage& page, const RunTelemetry& telemetry) {
  if (telemetry.ranks < 2) return;
  const Waiting& waiting = telemetry.waiting;
  if (waiting.stragglers.empty() && !waiting.slow_exchange) {
    page.line("  No rank in particular was waited for.");
    return;
  }
  const std::size_t shown = std::min(waiting.stragglers.size(), kMostStragglers);
  for (std::size_t i = 0; i < shown; ++i) page.item(sentence(waiting.stragglers[i]));
  if (shown < waiting.stragglers.size()) {
    page.item(
        fmt::format("{} more ranks were waited for: --full", waiting.stragglers.size() - shown));
  }
  if (waiting.slow_exchange) page.item(sentence(*waiting.slow_exchange));
}

}  // namespace

void write_screen(TextPage& page, const RunReport& run) {
  page.title(run.name);
  page.paragraph(described(run.facts));
  write_outcome(page, run.facts);
  write_time(page, run.facts);
  write_staging_lines(page, run.facts);
  write_epochs(page, run.facts);
  write_rates(page, run.facts);
  write_curve(page, run.facts);
  write_where(page, run);
  if (run.telemetry) write_waited_for(page, *run.telemetry);
}

}  // namespace analysis::report

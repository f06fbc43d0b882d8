// `trainmark status`.
#include "analysis/command/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analysis/command/outputs.h"
#include "analysis/found_sets.h"
#include "analysis/live_run.h"
#include "analysis/numbers.h"
#include "analysis/report/json/optional.h"
#include "analysis/report/openmetrics/status.h"
#include "analysis/report/text/page.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace analysis::command {
namespace {

using base::ConfigError;
using report::optional_json;
using Json = nlohmann::ordered_json;

constexpr int kStatusSchema = 1;
/// A run gives a sign of life every two seconds.
constexpr double kLateS = 5.0;
/// A silent run is followed for this long.
constexpr double kGivenUpS = 600.0;

std::string state_text(const LiveRun& run) {
  std::string text = to_string(run.state);
  if (run.state == LiveState::kRunning && !run.phase.empty()) {
    text += fmt::format(": {} for {}", run.phase, duration_text(run.phase_s));
    if (run.sign_of_life_s > kLateS) {
      text += fmt::format(", last sign of life {} ago", duration_text(run.sign_of_life_s));
    }
  }
  if (run.state == LiveState::kSilent) {
    text += fmt::format(": no sign of life for {}", duration_text(run.sign_of_life_s));
    if (!run.phase.empty()) text += ", last seen in " + run.phase;
  }
  if (run.state == LiveState::kGone) text += ": its process ended without a word";
  if (run.state == LiveState::kEnded) text += fmt::format(": {}", to_string(run.facts.outcome));
  if (run.process > 0) {
    text += fmt::format(" ({}, process {} on {})", base::counted(run.ranks, "rank"), run.process,
                        run.host);
  }
  return text;
}

std::string epoch_text(const LiveRun& run) {
  std::string text = short_number(run.standing.epochs_done);
  if (run.epochs) text += fmt::format(" of at most {}", short_number(run.epochs));
  if (run.steps_done && run.steps_total) {
    text += fmt::format(" (step {:.0f} of {:.0f})", *run.steps_done, *run.steps_total);
  }
  return text;
}

std::string quality_now(const LiveRun& run) {
  const std::vector<Evaluation>& evaluations = run.facts.evaluations;
  const std::string target =
      run.facts.target_value() ? fmt::format("target {}", *run.facts.target_value()) : "no target";
  if (evaluations.empty()) return fmt::format("not evaluated yet ({})", target);
  const std::string seen = fmt::format("{} ({}; best {})", quality_text(evaluations.back().quality),
                                       target, quality_text(run.facts.best_quality));
  if (run.state == LiveState::kEnded) return seen;
  const double ago_s = std::max(0.0, run.standing.elapsed_s - evaluations.back().time_s);
  return fmt::format("{}, {} ago", seen, duration_text(ago_s));
}

std::string end_text(const LiveRun& run) {
  const auto in = [&](double end_s) {
    return duration_text(std::max(0.0, end_s - run.standing.elapsed_s));
  };
  if (run.facts.at_target) return "the target is reached";
  std::string limit;
  if (run.limit_s) limit = fmt::format("all epochs end in {}", in(*run.limit_s));
  if (!run.outlook) {
    return limit.empty() ? "cannot be estimated yet" : "the target cannot be foreseen; " + limit;
  }
  const Outlook& outlook = *run.outlook;
  const bool beyond = run.limit_s && outlook.end_s > *run.limit_s;
  std::string text = beyond ? "the target lies beyond the last epoch" : "in " + in(outlook.end_s);
  if (outlook.low_s) {
    const std::string low = in(*outlook.low_s);
    text += outlook.high_s ? fmt::format(" (95 %: {} to {})", low, in(*outlook.high_s))
                           : fmt::format(" (95 %: at least {})", low);
  }
  text += ", by " + outlook.basis;
  return limit.empty() ? text : text + "; " + limit;
}

std::string parts_text(const LiveRun& run) {
  double sum = 0.0;
  for (const auto& [name, seconds] : run.parts) sum += seconds;
  std::string text;
  for (const auto& [name, seconds] : run.parts) {
    if (seconds <= 0.0) continue;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name,
                        base::kPercent * seconds / sum);
  }
  return text;
}

void write_run(report::TextPage& page, const LiveRun& run) {
  const auto fact = [&](const char* label, const std::string& text) { page.fact(label, text, {}); };
  page.heading(run.log.string(), {});
  fact("workload", run.workload.empty() ? "unknown" : run.workload);
  fact("state", state_text(run));
  if (!run.problem.empty()) fact("not read", run.problem);
  if (!run.facts.run_start_ms) {
    fact("run", "not started");
    return;
  }
  fact("epochs", epoch_text(run));
  fact(run.facts.metric.c_str(), quality_now(run));
  if (run.samples_per_s && *run.samples_per_s > 0.0) {
    fact("samples/s", short_number(run.samples_per_s));
  }
  if (run.mean_loss && std::isfinite(*run.mean_loss)) fact("loss", short_number(run.mean_loss));
  fact("elapsed", duration_text(run.standing.elapsed_s));
  if (run.state == LiveState::kRunning) fact("end", end_text(run));
  const std::string parts = parts_text(run);
  if (!parts.empty()) fact("time so far", parts);
}

void write_sets(const std::vector<FoundSet>& sets, std::ostream& out) {
  for (const FoundSet& set : sets) {
    out << '\n';
    for (const std::string& line : set.lines) out << line << '\n';
  }
}

Json outlook_json(const LiveRun& run) {
  if (!run.outlook) return nullptr;
  return {{"basis", run.outlook->basis},
          {"end_s", run.outlook->end_s},
          {"low_s", optional_json(run.outlook->low_s)},
          {"high_s", optional_json(run.outlook->high_s)}};
}

Json json_of(const LiveRun& run) {
  Json evaluations = Json::array(), parts = Json::object();
  for (const Evaluation& one : run.facts.evaluations) {
    evaluations.push_back({{"epoch_num", optional_json(run.facts.epoch_num(one))},
                           {"time_s", one.time_s},
                           {"quality", one.quality}});
  }
  for (const auto& [name, seconds] : run.parts) parts[base::printable(name)] = seconds;
  return {{"log", base::printable(run.log.string())},
          {"workload", base::printable(run.workload)},
          {"state", to_string(run.state)},
          {"outcome", to_string(run.facts.outcome)},
          {"sign_of_life_s", optional_json(run.sign_of_life_s)},
          {"host", base::printable(run.host)},
          {"process", run.process},
          {"ranks", run.ranks},
          {"phase", base::printable(run.phase)},
          {"phase_s", optional_json(run.phase_s)},
          {"elapsed_s", run.standing.elapsed_s},
          {"epochs_done", run.standing.epochs_done},
          {"epochs", optional_json(run.epochs)},
          {"steps_done", optional_json(run.steps_done)},
          {"steps_total", optional_json(run.steps_total)},
          {"samples_per_s", optional_json(run.samples_per_s)},
          {"mean_loss", optional_json(run.mean_loss)},
          {"metric", base::printable(run.facts.metric)},
          {"target", optional_json(run.facts.target_value())},
          {"evaluations", std::move(evaluations)},
          {"parts", std::move(parts)},
          {"outlook", outlook_json(run)},
          {"limit_s", optional_json(run.limit_s)},
          {"problem", base::printable(run.problem)}};
}

std::string json_text(const std::vector<LiveRun>& runs, const std::vector<FoundSet>& sets) {
  Json list = Json::array(), summaries = Json::array(), definitions = Json::object();
  for (const FoundSet& set : sets) summaries.push_back(Json(set.document));
  for (const LiveRun& run : runs) list.push_back(json_of(run));
  for (const auto& [name, text] : live_definitions()) definitions[name] = text;
  const Json document = {{"schema", kStatusSchema},
                         {"runs", std::move(list)},
                         {"sets", std::move(summaries)},
                         {"definitions", definitions}};
  return base::json_text(document);
}

bool goes_on(const std::vector<LiveRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const LiveRun& run) {
    const bool may_speak =
        run.state == LiveState::kSilent && run.sign_of_life_s.value_or(0.0) < kGivenUpS;
    return run.state == LiveState::kRunning || may_speak;
  });
}

}  // namespace

base::ExitCode status(const StatusOptions& options, const StatusDoors& doors, std::ostream& out,
                      std::ostream& messages, std::size_t width) {
  if (options.paths.empty()) throw ConfigError("status: expected a folder of results, got none");
  if (options.follow && !options.json.empty()) {
    throw ConfigError("status: --json tells once; expected no --follow with it");
  }
  require_files({{"--json", options.json}, {"--openmetrics", options.openmetrics}});
  const auto read = with_side_files({options.paths.begin(), options.paths.end()});
  for (const std::string& file : {options.json, options.openmetrics}) {
    if (file.empty() || file == kStandardOutput) continue;
    refuse_to_overwrite(file, read);
  }
  constexpr char kClear[] = "\x1b[H\x1b[2J";
  LiveRuns all(options.paths);
  std::vector<std::string> reported;  // problems reported already
  for (bool first = true;; first = false) {
    const std::vector<LiveRun> runs = all.look(doors.clock);
    std::vector<std::string> problems = all.problems();
    const std::vector<FoundSet> sets = find_sets(options.paths, problems);
    if (problems != reported) {
      for (const std::string& problem : problems) messages << base::printable(problem) << '\n';
      reported = problems;
    }
    if (!options.json.empty() && options.json != kStandardOutput) {
      write_files({{options.json, json_text(runs, sets)}}, messages, false);
    }
    if (!options.openmetrics.empty()) {
      write_files({{options.openmetrics, report::status_openmetrics(runs)}}, messages,
                  options.follow);
    }
    if (options.json == kStandardOutput) {
      out << json_text(runs, sets);
    } else {
      if (options.follow && doors.is_terminal) out << kClear;
      if (!first && !doors.is_terminal) out << '\n';
      report::TextPage page(out, width);
      for (const LiveRun& run : runs) write_run(page, run);
      write_sets(sets, out);
    }
    end_output(out);
    if (!options.follow || !goes_on(runs)) {
      return problems.empty() ? base::ExitCode::kSuccess : base::ExitCode::kIncomplete;
    }
    doors.sleep(options.interval_s);
  }
}

}  // namespace analysis::command

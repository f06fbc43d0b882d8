// `trainmark analyze`.
#include "analysis/command/analyze.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <vector>

#include "analysis/command/outputs.h"
#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/report/csv/report.h"
#include "analysis/report/html/report.h"
#include "analysis/report/json/report.h"
#include "analysis/report/json/schema.h"
#include "analysis/report/text/report.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;

constexpr std::size_t kDefaultWidth = 80;
constexpr std::size_t kWidestUseful = 400;

void check(const AnalyzeOptions& options) {
  if (options.paths.empty()) throw ConfigError("analyze: expected at least one PATH, got none");
  const bool has_text = !options.quiet && options.json != kStandardOutput;
  if (options.joint && !has_text && options.markdown.empty()) {
    throw ConfigError(
        "analyze: --joint is a form of the text report, which --quiet and --json - leave out; "
        "expected --markdown with them");
  }
  require_files({{"--json", options.json},
                 {"--csv", options.csv},
                 {"--html", options.html},
                 {"--markdown", options.markdown}});
}

/// A terminal shows one screen of a single log unless asked for more; a page of Markdown shows all.
void write(std::ostream& out, std::size_t width, report::TextForm form,
           const AnalyzeOptions& options, const Report& report) {
  using report::Definitions;
  using report::Detail;
  report::TextPage page(out, width, form,
                        options.definitions ? Definitions::kShown : Definitions::kHidden);
  if (options.joint) return report::write_joint_text(page, report);
  const bool is_full = options.full || form == report::TextForm::kMarkdown;
  report::write_text(page, report, is_full ? Detail::kFull : Detail::kScreen);
}

std::vector<OutputFile> outputs_of(const AnalyzeOptions& options, const Report& report) {
  std::vector<OutputFile> outputs;
  if (!options.json.empty() && options.json != kStandardOutput) {
    outputs.push_back({options.json, report::report_json_text(report)});
  }
  if (fs::path(options.csv).extension() == ".csv") {
    outputs.push_back({options.csv, report::runs_csv(report)});
  } else if (!options.csv.empty()) {
    const fs::path folder = options.csv;
    outputs.push_back({folder / "runs.csv", report::runs_csv(report)});
    outputs.push_back({folder / "convergence.csv", report::convergence_csv(report)});
    outputs.push_back({folder / "subsystems.csv", report::subsystems_csv(report)});
    outputs.push_back({folder / "ranks.csv", report::ranks_csv(report)});
    outputs.push_back({folder / "steps.csv", report::steps_csv(report)});
    outputs.push_back({folder / "layers.csv", report::layers_csv(report)});
    outputs.push_back({folder / "transfers.csv", report::transfers_csv(report)});
    outputs.push_back({folder / "staging.csv", report::staging_csv(report)});
    outputs.push_back({folder / "waiting.csv", report::waiting_csv(report)});
    outputs.push_back({folder / "systems.csv", report::systems_csv(report)});
  }
  if (!options.html.empty()) outputs.push_back({options.html, report::report_html(report)});
  if (!options.markdown.empty()) {
    std::ostringstream markdown;
    write(markdown, 0, report::TextForm::kMarkdown, options, report);
    outputs.push_back({options.markdown, markdown.str()});
  }
  return outputs;
}

/// Why a log has no records: its last finding of Rule::kNoRecords.
std::string why_unreadable(const RunReport& run) {
  std::string reason;
  for (const Finding& finding : run.findings) {
    if (finding.rule == audit_rule(Rule::kNoRecords).id) reason = finding.text;
  }
  return reason;
}

ExitCode verdict(const Report& report, std::ostream& messages) {
  for (const Problem& problem : report.problems) {
    messages << base::printable(problem.path + ": " + problem.text) << '\n';
  }
  const std::size_t readable = report.readable();
  for (const RunReport& run : report.runs) {
    if (run.facts.records > 0) continue;
    const std::string reason = why_unreadable(run);
    messages << base::printable(run.path.string() + ": " + reason) << '\n';
  }
  if (readable == 0) return ExitCode::kData;
  for (const Problem& problem : report.problems) {
    if (problem.missing) return ExitCode::kData;
  }
  const bool complete = report.problems.empty() && readable == report.runs.size();
  return complete ? ExitCode::kSuccess : ExitCode::kIncomplete;
}

}  // namespace

ExitCode analyze(const AnalyzeOptions& options, std::ostream& out, std::ostream& messages,
                 std::size_t width) {
  if (options.schema) {
    if (!options.paths.empty()) {
      throw ConfigError("analyze: --schema takes no PATH, got " + options.paths.front());
    }
    out << report::report_schema_text();
    end_output(out);
    return ExitCode::kSuccess;
  }
  check(options);
  // The text report does not show traces.
  const bool shows_traces = !(options.json.empty() && options.csv.empty() && options.html.empty());
  const Report report =
      make_report(options.paths, {options.threads, options.standard_input, shows_traces});
  const std::vector<OutputFile> outputs = outputs_of(options, report);
  std::vector<fs::path> logs;
  for (const RunReport& run : report.runs) logs.push_back(run.path);
  const std::vector<fs::path> read = with_side_files(logs);
  for (const OutputFile& output : outputs) refuse_to_overwrite(output.path, read);
  // Files first: a reader of the text that ends early, such as `head`, then costs none of them.
  write_files(outputs, messages, options.quiet);
  if (options.json == kStandardOutput) {
    out << report::report_json_text(report);
  } else if (!options.quiet) {
    write(out, width, report::TextForm::kTerminal, options, report);
  }
  end_output(out);
  return verdict(report, messages);
}

std::size_t output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const given = std::getenv("COLUMNS");
  const unsigned long columns = given ? std::strtoul(given, nullptr, 10) : 0;
  return columns > 0 && columns <= kWidestUseful ? columns : kDefaultWidth;
}

}  // namespace analysis::command

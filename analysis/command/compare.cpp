// `trainmark compare`.
#include "analysis/command/compare.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>

#include "analysis/command/outputs.h"
#include "analysis/comparison/bench_result.h"
#include "analysis/comparison/exchange_result.h"
#include "analysis/findings/compared.h"
#include "analysis/report/csv/compare.h"
#include "analysis/report/json/bench.h"
#include "analysis/report/json/compare.h"
#include "analysis/report/json/exchange.h"
#include "analysis/report/json/schema.h"
#include "analysis/report/text/bench.h"
#include "analysis/report/text/compare.h"
#include "analysis/report/text/exchange.h"
#include "analysis/side_files.h"
#include "runner/base/input_file.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

using base::ExitCode;
using comparison::BenchResult;
using comparison::ExchangeResult;

std::string read(const std::string& file) {
  std::string problem;
  auto text = read_side_text(file, problem);
  if (!text) throw base::SystemError(file + ": " + problem);
  return std::move(*text);
}

struct Texts {
  std::string text, json, csv, markdown;
};

Texts compare_exchanges(const std::vector<ExchangeResult>& results, std::uint64_t seed) {
  std::vector<comparison::ExchangeComparison> comparisons;
  for (std::size_t i = 1; i < results.size(); ++i) {
    comparisons.push_back(comparison::compare_exchanges(results.front(), results[i], seed));
  }
  return {report::exchange_compare_text(results, comparisons),
          report::exchange_compare_json_text(results, comparisons), "", ""};
}

Texts compare_bench_files(const CompareOptions& options) {
  std::vector<ExchangeResult> exchanges;
  std::vector<BenchResult> trainings;
  for (const std::string& path : options.paths) {
    const std::string text = read(path);
    if (auto exchange = comparison::parse_exchange(text, path)) {
      exchanges.push_back(std::move(*exchange));
    } else {
      trainings.push_back(comparison::parse_bench(text, path));
    }
  }
  if (!exchanges.empty() && !trainings.empty()) {
    throw base::ConfigError(
        fmt::format("compare: expected results of one bench, got {} of bench exchange and {} of "
                    "another",
                    exchanges.front().name, trainings.front().name));
  }
  if (!exchanges.empty()) return compare_exchanges(exchanges, options.seed);
  const auto comparisons = comparison::compare_benches(trainings, options.seed);
  return {report::bench_compare_text(trainings, comparisons),
          report::bench_compare_json_text(trainings, comparisons), "", ""};
}

/// Reports damaged files next to the logs, and sets `code` to kIncomplete if there are any.
void print_damaged(const Report& report, std::ostream& messages, ExitCode& code) {
  const auto print = [&](const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      if (finding.rule != audit_rule(Rule::kTelemetryDamaged).id &&
          finding.rule != audit_rule(Rule::kSideFileDamaged).id) {
        continue;
      }
      messages << base::printable(finding.text) << '\n';
      code = ExitCode::kIncomplete;
    }
  };
  for (const RunReport& run : report.runs) print(run.findings);
  for (const SystemReport& system : report.systems) print(system.findings);
}

Texts compare_logs(const CompareOptions& options, std::size_t width, std::ostream& messages,
                   ExitCode& code) {
  const Compared compared = compare_paths(
      options.paths, {options.seed, comparison::kDraws, options.per}, options.threads);
  for (const Report& one : compared.reports) {
    for (const Problem& problem : one.problems) {
      messages << base::printable(problem.path + ": " + problem.text) << '\n';
      code = ExitCode::kIncomplete;
    }
  }
  for (const Report& one : compared.reports) print_damaged(one, messages, code);
  for (const std::string& damaged : compared.damaged) {
    messages << base::printable(damaged) << '\n';
    code = ExitCode::kIncomplete;
  }
  std::ostringstream text, markdown;
  const auto definitions =
      options.definitions ? report::Definitions::kShown : report::Definitions::kHidden;
  report::TextPage page(text, width, report::TextForm::kTerminal, definitions),
      marked(markdown, 0, report::TextForm::kMarkdown, definitions);
  report::write_compare_text(page, compared);
  report::write_compare_text(marked, compared);
  return {text.str(), report::compare_json_text(compared), report::compare_csv(compared),
          markdown.str()};
}

/// Whether the file begins with a JSON object, as no log does.
bool is_bench_result(const std::string& path) {
  try {
    base::InputFile in(path);
    char first = 0;
    return in >> first && first == '{';
  } catch (const base::SystemError&) {
    return false;
  }
}

bool are_bench_results(const std::vector<std::string>& paths) {
  std::optional<std::string> bench, log;
  for (const std::string& path : paths) (is_bench_result(path) ? bench : log) = path;
  if (bench && log) {
    throw base::ConfigError(fmt::format(
        "compare: expected bench results alone or logs alone, got the JSON file {} and '{}'",
        *bench, *log));
  }
  return !log;
}

}  // namespace

ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& messages,
                 std::size_t width) {
  if (options.schema) {
    if (!options.paths.empty()) {
      throw base::ConfigError("compare: --schema takes no PATH, got " + options.paths.front());
    }
    out << report::compare_schema_text();
    end_output(out);
    return ExitCode::kSuccess;
  }
  if (options.paths.size() < 2) {
    throw base::ConfigError(
        fmt::format("compare: expected at least two paths, got {}", options.paths.size()));
  }
  require_files(
      {{"--json", options.json}, {"--csv", options.csv}, {"--markdown", options.markdown}});
  const bool is_bench = are_bench_results(options.paths);
  const bool asks_for_logs =
      options.per != comparison::Per::kSystem || !options.csv.empty() || !options.markdown.empty();
  if (is_bench && asks_for_logs) {
    throw base::ConfigError(
        "compare: --baseline, --csv and --markdown are for logs, not for bench results");
  }
  ExitCode code = ExitCode::kSuccess;
  const Texts texts =
      is_bench ? compare_bench_files(options) : compare_logs(options, width, messages, code);
  std::vector<OutputFile> files;
  const auto read = with_side_files({options.paths.begin(), options.paths.end()});
  const auto add = [&](const std::string& path, const std::string& content) {
    if (path.empty() || path == kStandardOutput) return;
    refuse_to_overwrite(path, read);
    files.push_back({path, content});
  };
  add(options.json, texts.json);
  add(options.csv, texts.csv);
  add(options.markdown, texts.markdown);
  write_files(files, messages, false);
  out << (options.json == kStandardOutput ? texts.json : texts.text);
  end_output(out);
  return code;
}

}  // namespace analysis::command

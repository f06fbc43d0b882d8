// `trainmark compare`.
// Hides files, how a bench result is told from logs, and the words for bench results.
#include "analysis/command/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/command/outputs.h"
#include "analysis/comparison/bench_result.h"
#include "analysis/report/compared.h"
#include "analysis/report/report_schema.h"
#include "analysis/report/write_compare.h"
#include "analysis/side_files.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ExitCode;
using comparison::BenchComparison;
using comparison::BenchResult;
using comparison::compare_bench;
using comparison::LayerDifference;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLayers = 12;  ///< told in text

BenchResult read(const std::string& file) {
  std::string problem;
  const auto text = read_side_text(file, problem);
  if (!text) throw base::SystemError(file + ": " + problem);
  return comparison::parse_bench(*text, file);
}

std::string line_of(const BenchResult& result) {
  const auto [least, most] = std::minmax_element(result.step_s.begin(), result.step_s.end());
  return base::printable(fmt::format(
             "{}: {:.4g} samples/s (median of {} steps of {:.4g} to {:.4g} s)", result.name,
             result.samples_per_s(), result.step_s.size(), *least, *most)) +
         "\n";
}

std::string line_of(const LayerDifference& layer) {
  const auto milliseconds = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.3f}", 1e3 * *seconds) : std::string("none");
  };
  return fmt::format("layer {}: {} and {} ms ({:+.3f} ms)", layer.name, milliseconds(layer.first_s),
                     milliseconds(layer.second_s), 1e3 * layer.difference_s());
}

std::string text_of(const BenchResult& first, const BenchResult& second,
                    const BenchComparison& comparison) {
  const std::string within = std::isfinite(comparison.interval.low)
                                 ? fmt::format("95 % within {:.3f} to {:.3f}; ",
                                               comparison.interval.low, comparison.interval.high)
                                 : "";
  std::string text;
  if (comparison.distinguishable) {
    text = fmt::format("{} is {:.3f} times as fast as {} ({}p {:.2g})", second.name,
                       comparison.ratio, first.name, within, comparison.p_value);
  } else {
    text = fmt::format("{} and {} are not distinguishable: ratio {:.3f} ({}p {:.2g})", second.name,
                       first.name, comparison.ratio, within, comparison.p_value);
  }
  text = base::printable(text) + "\n";
  for (const std::string& difference : comparison.differences) {
    text += base::printable("  they differ in " + difference) + "\n";
  }
  for (std::size_t i = 0; i < std::min(comparison.layers.size(), kMostLayers); ++i) {
    text += base::printable("  " + line_of(comparison.layers[i])) + "\n";
  }
  return text;
}

Json json_of(const BenchResult& result) {
  return {{"file", base::printable(result.name)},
          {"samples_per_s", result.samples_per_s()},
          {"steps", result.step_s.size()}};
}

Json json_of(const BenchResult& second, const BenchComparison& comparison) {
  Json interval;
  if (std::isfinite(comparison.interval.low)) {
    interval = {comparison.interval.low, comparison.interval.high};
  }
  Json layers = Json::array();
  for (const LayerDifference& one : comparison.layers) {
    const auto seconds = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json();
    };
    layers.push_back({{"name", base::printable(one.name)},
                      {"first_s", seconds(one.first_s)},
                      {"second_s", seconds(one.second_s)},
                      {"difference_s", one.difference_s()}});
  }
  return {{"file", base::printable(second.name)},
          {"ratio", comparison.ratio},
          {"interval", interval},
          {"p_value", comparison.p_value},
          {"distinguishable", comparison.distinguishable},
          {"differences", comparison.differences},
          {"layers", layers}};
}

Json definitions() {
  return {
      {"samples_per_s", "samples of a step over the median step time"},
      {"ratio", "samples_per_s over that of the first file"},
      {"interval",
       "95 % of the ratio: bootstrap of both medians, 20,000 draws, expanded percentiles; absent "
       "for fewer than 4 steps"},
      {"p_value",
       "share of exchanges of steps between the two that differ by as much in the mean of the "
       "logarithms of their times; exact up to 20,000 exchanges, else so many drawn ones; adjusted "
       "for the number of files (Holm)"},
      {"distinguishable",
       "p_value below 0.04. Steps of one process share what it met: repeat "
       "the process before a small difference is believed"},
      {"layers",
       "seconds of a step, forward and backward, where both were made with --layers; the "
       "largest difference first"}};
}

struct Texts {
  std::string text, json, csv, markdown;
};

Texts compare_bench_files(const CompareOptions& options) {
  std::vector<BenchResult> results;
  for (const std::string& path : options.paths) results.push_back(read(path));
  Texts texts;
  for (const BenchResult& result : results) texts.text += line_of(result);
  Json listed = Json::array(), compared = Json::array();
  for (const BenchResult& result : results) listed.push_back(json_of(result));
  std::vector<BenchComparison> comparisons;
  std::vector<std::optional<double>> p_values;
  for (std::size_t i = 1; i < results.size(); ++i) {
    comparisons.push_back(compare_bench(results[0], results[i], options.seed));
    p_values.push_back(comparisons.back().p_value);
  }
  p_values = comparison::holm_adjusted(p_values);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i].p_value = *p_values[i];
    comparisons[i].distinguishable = *p_values[i] < comparison::kLevel;
    texts.text += text_of(results[0], results[i + 1], comparisons[i]);
    compared.push_back(json_of(results[i + 1], comparisons[i]));
  }
  const Json document = {{"schema", report::kCompareSchema},
                         {"kind", "bench"},
                         {"results", listed},
                         {"comparisons", compared},
                         {"definitions", definitions()}};
  texts.json = document.dump(1) + "\n";
  return texts;
}

/// What lies beside logs and could not be used.
void tell_damaged(const report::Report& report, std::ostream& people, ExitCode& code) {
  const auto tell = [&](const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      if (finding.rule != audit_rule(Rule::kTelemetryDamaged).id &&
          finding.rule != audit_rule(Rule::kSideFileDamaged).id) {
        continue;
      }
      people << base::printable(finding.text) << '\n';
      code = ExitCode::kIncomplete;
    }
  };
  for (const report::RunReport& run : report.runs) tell(run.findings);
  for (const report::SystemReport& system : report.systems) tell(system.findings);
}

Texts compare_logs(const CompareOptions& options, std::size_t width, std::ostream& people,
                   ExitCode& code) {
  const report::Compared compared = report::compare_paths(
      options.paths, {options.seed, comparison::kDraws, options.per}, options.threads);
  for (const report::Report& one : compared.reports) {
    for (const report::Problem& problem : one.problems) {
      people << base::printable(problem.path + ": " + problem.text) << '\n';
      code = ExitCode::kIncomplete;
    }
  }
  for (const report::Report& one : compared.reports) tell_damaged(one, people, code);
  for (const std::string& damaged : compared.damaged) {
    people << base::printable(damaged) << '\n';
    code = ExitCode::kIncomplete;
  }
  std::ostringstream text, markdown;
  report::TextPage page(text, width), marked(markdown, 0, report::TextForm::kMarkdown);
  report::write_compare_text(page, compared);
  report::write_compare_text(marked, compared);
  return {text.str(), report::compare_json_text(compared), report::compare_csv(compared),
          markdown.str()};
}

/// A JSON object; logs have other lines.
bool is_bench_result(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  std::ifstream in(path, std::ios::binary);
  char first = 0;
  return in >> first && first == '{';
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

ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& people,
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
      is_bench ? compare_bench_files(options) : compare_logs(options, width, people, code);
  std::vector<OutputFile> files;
  const auto add = [&](const std::string& path, const std::string& content) {
    if (path.empty() || path == kStandardOutput) return;
    refuse_to_overwrite(path, {options.paths.begin(), options.paths.end()});
    files.push_back({path, content});
  };
  add(options.json, texts.json);
  add(options.csv, texts.csv);
  add(options.markdown, texts.markdown);
  out << (options.json == kStandardOutput ? texts.json : texts.text);
  end_output(out);
  write_files(files, people, false);
  return code;
}

}  // namespace analysis::command

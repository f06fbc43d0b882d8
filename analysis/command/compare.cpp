// `trainmark compare`.
// Hides files and words.
#include "analysis/command/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analysis/bench_comparison.h"
#include "analysis/command/outputs.h"
#include "analysis/side_files.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

using Json = nlohmann::ordered_json;

BenchResult read(const std::string& file) {
  std::string problem;
  const auto text = read_side_text(file, problem);
  if (!text) throw base::SystemError(file + ": " + problem);
  return parse_bench(*text, file);
}

std::string line_of(const BenchResult& result) {
  const auto [least, most] = std::minmax_element(result.step_s.begin(), result.step_s.end());
  return base::printable(fmt::format(
             "{}: {:.4g} samples/s (median of {} steps of {:.4g} to {:.4g} s)", result.name,
             result.samples_per_s(), result.step_s.size(), *least, *most)) +
         "\n";
}

std::string text_of(const BenchResult& first, const BenchResult& second,
                    const BenchComparison& comparison) {
  std::string text;
  if (comparison.distinguishable) {
    text = fmt::format("{} is {:.3f} times as fast as {} (95 % within {:.3f} to {:.3f}; p {:.2g})",
                       second.name, comparison.ratio, first.name, comparison.low, comparison.high,
                       comparison.p_value);
  } else {
    text = fmt::format(
        "{} and {} are not distinguishable: ratio {:.3f} (95 % within {:.3f} to {:.3f}; p {:.2g})",
        second.name, first.name, comparison.ratio, comparison.low, comparison.high,
        comparison.p_value);
  }
  text = base::printable(text) + "\n";
  for (const std::string& difference : comparison.differences) {
    text += base::printable("  they differ in " + difference) + "\n";
  }
  return text;
}

Json json_of(const BenchResult& result) {
  return {{"file", base::printable(result.name)},
          {"samples_per_s", result.samples_per_s()},
          {"steps", result.step_s.size()}};
}

Json json_of(const BenchResult& second, const BenchComparison& comparison) {
  return {{"file", base::printable(second.name)},          {"ratio", comparison.ratio},
          {"interval", {comparison.low, comparison.high}}, {"p_value", comparison.p_value},
          {"distinguishable", comparison.distinguishable}, {"differences", comparison.differences}};
}

Json definitions() {
  return {{"samples_per_s", "samples of a step over the median step time"},
          {"ratio", "samples_per_s over that of the first file"},
          {"interval", "95 % of the ratio: bootstrap of both medians, 20,000 draws"},
          {"p_value",
           "share of exchanges of steps between the two that differ by as much in the mean of the "
           "logarithms of their times; exact up to 20,000 exchanges, else so many drawn ones"},
          {"distinguishable",
           "p_value below 0.05. Steps of one process share what it met: repeat "
           "the process before a small difference is believed"}};
}

}  // namespace

base::ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& people) {
  if (options.files.size() < 2) {
    throw base::ConfigError(
        fmt::format("compare: expected at least two files, got {}", options.files.size()));
  }
  std::vector<BenchResult> results;
  for (const std::string& file : options.files) results.push_back(read(file));
  std::string text;
  for (const BenchResult& result : results) text += line_of(result);
  Json listed = Json::array(), compared = Json::array();
  for (const BenchResult& result : results) listed.push_back(json_of(result));
  for (std::size_t i = 1; i < results.size(); ++i) {
    const BenchComparison comparison = compare_bench(results[0], results[i], options.seed);
    text += text_of(results[0], results[i], comparison);
    compared.push_back(json_of(results[i], comparison));
  }
  const Json document = {{"schema", 1},
                         {"results", listed},
                         {"comparisons", compared},
                         {"definitions", definitions()}};
  const std::string json = document.dump(1) + "\n";
  std::vector<OutputFile> files;
  if (!options.json.empty() && options.json != kStandardOutput) {
    refuse_to_overwrite(options.json, {options.files.begin(), options.files.end()});
    files.push_back({options.json, json});
  }
  out << (options.json == kStandardOutput ? json : text);
  end_output(out);
  write_files(files, people, false);
  return base::ExitCode::kSuccess;
}

}  // namespace analysis::command

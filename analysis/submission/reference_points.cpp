// Reference convergence points, read from this project's files and from MLCommons'.
// Hides both formats.
#include "analysis/submission/reference_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/benchmark.h"
#include "analysis/submission/package_facts.h"
#include "analysis/submission/submission_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace analysis::submission {
namespace {

using base::ConfigError;
using base::ObjectReader;
using nlohmann::json;

/// Fewer leave nothing once the lowest and the highest are dropped.
constexpr std::size_t kFewestRuns = 3;

bool is_round(const std::string& text) {
  const std::size_t dot = text.find('.');
  const auto digits = [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  return dot != std::string::npos && digits(text.substr(0, dot)) && digits(text.substr(dot + 1));
}

base::Check<std::vector<double>> durations() {
  return {"must hold at least 3 numbers, all positive", [](const std::vector<double>& values) {
            return values.size() >= kFewestRuns &&
                   std::all_of(values.begin(), values.end(), [](double v) { return v > 0.0; });
          }};
}

base::Check<std::vector<std::string>> rounds() {
  return {"must name rounds such as 3.0, each once", [](const std::vector<std::string>& names) {
            std::vector<std::string> sorted = names;
            std::sort(sorted.begin(), sorted.end());
            const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
            return !names.empty() && distinct && std::all_of(names.begin(), names.end(), is_round);
          }};
}

ReferencePoint make_point(double batch_size, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {batch_size, std::move(values)};
}

void add_point(ReferenceSet& set, ReferencePoint point, const std::string& where) {
  const auto behind = std::find_if(set.points.begin(), set.points.end(), [&](const auto& held) {
    return held.batch_size >= point.batch_size;
  });
  if (behind != set.points.end() && behind->batch_size == point.batch_size) {
    throw ConfigError(
        fmt::format("{}: must be the only point of its batch size{}, got a second "
                    "one of {}",
                    where, set.round.empty() ? "" : " in round " + set.round, point.batch_size));
  }
  set.points.insert(behind, std::move(point));
}

json parse(const std::string& text, const std::string& name) {
  try {
    return base::parse_strict_json(text, name, base::JsonComments::kRefused);
  } catch (const base::DataError& e) {
    throw ConfigError(e.what());
  }
}

std::string read_source(const ObjectReader& in) {
  const ObjectReader source = in.object("source", "where the figures were taken from");
  const auto repository = source.required<std::string>("repository", "its address");
  const auto commit = source.required<std::string>("commit", "of the repository");
  const auto path = source.required<std::string>("path", "in the repository");
  source.required<std::string>("license", "of the repository");
  return fmt::format("{} at {}, {}", repository, commit, path);
}

/// The set without its points and round.
ReferenceSet read_head(const ObjectReader& in) {
  const std::vector<std::pair<std::string, std::string>> usages = {{"training", "training"},
                                                                   {"hpc", "hpc"}};
  const std::vector<std::pair<std::string, std::string>> units = {
      {"epochs", "epochs"}, {"samples", "samples"}, {"tokens", "tokens"}, {"steps", "steps"}};
  ReferenceSet head;
  head.benchmark = in.required("benchmark", "submission_benchmark", base::not_empty());
  head.usage = in.choice("usage", std::string(), usages, "the working group");
  head.unit = in.choice("unit", std::string(), units, "of converged_after");
  head.runs_required =
      in.required("runs_required", "runs of a submission", base::at_least(kFewestRuns));
  head.source = read_source(in);
  return head;
}

/// Takes the array `key` out, which ObjectReader cannot read: it knows no arrays of objects.
json take_array(json& object, const char* key, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->empty()) {
    throw ConfigError(fmt::format("{}: /{}: must be an array of at least one object", name, key));
  }
  json array = std::move(*found);
  object.erase(found);
  return array;
}

}  // namespace

std::string short_round(const std::string& round) {
  std::string text = round.starts_with('v') ? round.substr(1) : round;
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots == 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::vector<ReferenceSet> parse_reference_file(const std::string& text, const std::string& name) {
  json root = parse(text, name);
  const json points = take_array(root, "points", name);
  const ObjectReader in(root, name);
  const ReferenceSet head = read_head(in);
  in.reject_unknown();
  std::map<std::string, ReferenceSet> by_round;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ObjectReader point(points[i], fmt::format("{}: /points/{}", name, i));
    const auto size = point.required("batch_size", "global, in samples", base::at_least(1));
    const auto values = point.required("converged_after", "per run, in `unit`", durations());
    for (const std::string& round : point.required("rounds", "that use it", rounds())) {
      ReferenceSet& set = by_round.try_emplace(round, head).first->second;
      set.round = round;
      add_point(set, make_point(static_cast<double>(size), values), point.where());
    }
    point.reject_unknown();
  }
  std::vector<ReferenceSet> sets;
  for (auto& [round, set] : by_round) sets.push_back(std::move(set));
  return sets;
}

std::vector<ReferenceSet> all_reference_points() {
  std::vector<ReferenceSet> all;
  for (const base::EmbeddedFile& file : embedded_submission_rules()) {
    if (!file.name.starts_with("rcp/")) continue;
    for (ReferenceSet& set : parse_reference_file(std::string(file.text), std::string(file.name))) {
      all.push_back(std::move(set));
    }
  }
  std::sort(all.begin(), all.end(), [](const ReferenceSet& a, const ReferenceSet& b) {
    return std::tie(a.usage, a.benchmark, a.round) < std::tie(b.usage, b.benchmark, b.round);
  });
  return all;
}

std::optional<ReferenceSet> reference_points(const std::string& usage, const std::string& round,
                                             const std::string& benchmark) {
  const std::string name = "rcp/" + benchmark + ".json";
  for (const base::EmbeddedFile& file : embedded_submission_rules()) {
    if (file.name != name) continue;
    for (ReferenceSet& set : parse_reference_file(std::string(file.text), name)) {
      if (set.usage == usage && set.round == short_round(round)) return std::move(set);
    }
  }
  return std::nullopt;
}

ReferenceSet read_custom_points(const std::string& path, const std::string& usage,
                                const std::string& benchmark) {
  const Benchmark* const row = find_benchmark(benchmark);
  const auto runs = package_facts().runs_required(usage, benchmark);
  if (!runs && !row) {
    throw ConfigError(
        fmt::format("{}: '{}' is no benchmark whose number of runs is known", path, benchmark));
  }
  ReferenceSet set;
  set.usage = usage;
  set.benchmark = benchmark;
  set.unit = row && row->epoch_meaning == EpochMeaning::kSamples ? "samples" : "epochs";
  set.runs_required = runs ? *runs : row->runs_required;
  set.source = path;
  const json records = base::load_config(path, {});
  for (const auto& [name, record] : records.items()) {
    const ObjectReader in(record, fmt::format("{}: {}", path, base::json_path("", name)));
    if (in.required("Benchmark", "submission_benchmark", base::not_empty()) != benchmark) continue;
    const auto batch_size = in.required("BS", "global batch size", base::positive());
    const auto values = in.required("Epochs to converge", "one per run", durations());
    add_point(set, make_point(batch_size, values), in.where());
  }
  return set;
}

std::optional<ReferenceSet> points_of(const std::string& usage, const std::string& round,
                                      const std::string& benchmark,
                                      const std::string& custom_points) {
  if (custom_points.empty()) return reference_points(usage, round, benchmark);
  if (!package_facts().runs_required(usage, benchmark) && !find_benchmark(benchmark)) return {};
  return read_custom_points(custom_points, usage, benchmark);
}

}  // namespace analysis::submission

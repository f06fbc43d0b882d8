// Reference convergence points, read from this project's files and from MLCommons'.
#include "analysis/submission/reference_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/submission/submission_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/benchmarks.h"

namespace analysis::submission {
namespace {

using base::ConfigError;
using base::ObjectReader;
using nlohmann::json;

// Members of MLCommons' files. Their "epochs" are samples for many benchmarks.
constexpr char kEpochsMember[] = "Epochs to converge";
constexpr char kSamplesMember[] = "samples to converge";

/// Requires enough runs that some are left without the fastest and the slowest.
base::Check<std::vector<double>> durations(const mllog::Benchmark& benchmark) {
  const auto fewest = static_cast<std::size_t>(2 * benchmark.dropped_each_end + 1);
  return {fmt::format("must hold at least {} numbers, all positive", fewest),
          [fewest](const std::vector<double>& values) {
            return values.size() >= fewest &&
                   std::all_of(values.begin(), values.end(), [](double v) { return v > 0.0; });
          }};
}

base::Check<std::vector<std::string>> rounds() {
  return {"must name rounds such as 3.0, each once", [](const std::vector<std::string>& names) {
            std::vector<std::string> sorted = names;
            std::sort(sorted.begin(), sorted.end());
            const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
            return !names.empty() && distinct &&
                   std::all_of(names.begin(), names.end(), mllog::is_round_number);
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

std::string source_text(const ObjectReader& in) {
  const ObjectReader source = in.object("source", "where the figures were taken from");
  const auto repository = source.required<std::string>("repository", "its address");
  const auto commit = source.required<std::string>("commit", "of the repository");
  const auto path = source.required<std::string>("path", "in the repository");
  source.required<std::string>("license", "of the repository");
  return fmt::format("{} at {}, {}", repository, commit, path);
}

std::string file_name(const std::string& benchmark) { return "rcp/" + benchmark + ".json"; }

/// The members of a file that apply to all its points.
struct Head {
  const mllog::Benchmark* benchmark = nullptr;
  std::string source;
  double leeway = 0.0;
  std::string short_name;  ///< of the benchmark in some of MLCommons' files; "" if none
};

Head read_head(const ObjectReader& in) {
  const auto name = in.required<std::string>("benchmark", "submission_benchmark");
  Head head{mllog::find_benchmark(name), source_text(in), 0.0, {}};
  head.leeway = in.optional("leeway", head.leeway, "of the least mean", base::not_negative());
  head.short_name = in.optional("short_name", head.short_name, "in some of MLCommons' files");
  if (head.benchmark) return head;
  throw ConfigError(
      fmt::format("{}: must be in configs/benchmarks.json, got {}", in.where("benchmark"), name));
}

/// A set without its points and their unit.
ReferenceSet empty_set(const mllog::Benchmark& benchmark, const std::string& round) {
  ReferenceSet set;
  set.usage = benchmark.usage;
  set.round = round;
  set.benchmark = benchmark.name;
  set.runs_required = benchmark.runs(round);
  set.dropped_each_end = static_cast<std::size_t>(benchmark.dropped_each_end);
  return set;
}

std::string unit_of(const ReferenceSet& set, const mllog::Benchmark& benchmark) {
  const mllog::EvaluationFacts& facts = benchmark.evaluation(set.round);
  const bool are_samples =
      facts.samples_from > 0.0 && std::ranges::all_of(set.points, [&](const ReferencePoint& point) {
        return point.converged_after.front() >= facts.samples_from;
      });
  return to_string(are_samples ? mllog::PositionUnit::kSamples : facts.counts);
}

/// The text of the embedded file of a benchmark; nothing if there is none.
std::optional<std::string> embedded_text(const std::string& benchmark) {
  for (const base::EmbeddedFile& file : embedded_submission_rules()) {
    if (file.name == file_name(benchmark)) return std::string(file.text);
  }
  return std::nullopt;
}

/// The head of the embedded file of a benchmark.
Head embedded_head(const mllog::Benchmark& benchmark) {
  const std::optional<std::string> text = embedded_text(benchmark.name);
  if (!text) return {&benchmark, {}, 0.0, {}};
  const json root = parse(*text, file_name(benchmark.name));
  return read_head(ObjectReader(root, file_name(benchmark.name)));
}

}  // namespace

std::string ReferenceSet::extremes() const {
  if (dropped_each_end == 1) return "the fastest and the slowest run";
  return fmt::format("the {0} fastest and the {0} slowest runs", dropped_each_end);
}

std::string short_round(const std::string& round) {
  std::string text = round.starts_with('v') ? round.substr(1) : round;
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots == 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::vector<ReferenceSet> parse_reference_file(const std::string& text, const std::string& name) {
  const json root = parse(text, name);
  const ObjectReader in(root, name);
  const Head head = read_head(in);
  std::map<std::string, ReferenceSet> by_round;
  for (const ObjectReader& point : in.objects("points", "the reference's runs")) {
    const auto size = point.required("batch_size", "global, in samples", base::at_least(1));
    const auto values =
        point.required("converged_after", "of each run", durations(*head.benchmark));
    for (const std::string& round : point.required("rounds", "that use it", rounds())) {
      ReferenceSet& set =
          by_round.try_emplace(round, empty_set(*head.benchmark, round)).first->second;
      set.source = head.source;
      set.leeway = head.leeway;
      add_point(set, make_point(static_cast<double>(size), values), point.where());
    }
  }
  if (by_round.empty()) throw ConfigError(in.where("points") + ": must not be empty");
  in.reject_unknown();
  std::vector<ReferenceSet> sets;
  for (auto& [round, set] : by_round) {
    set.unit = unit_of(set, *head.benchmark);
    sets.push_back(std::move(set));
  }
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
  const std::optional<std::string> text = embedded_text(benchmark);
  if (!text) return std::nullopt;
  for (ReferenceSet& set : parse_reference_file(*text, file_name(benchmark))) {
    if (set.usage == usage && set.round == short_round(round)) return std::move(set);
  }
  return std::nullopt;
}

ReferenceSet read_custom_points(const std::string& path, const std::string& round,
                                const std::string& benchmark) {
  const mllog::Benchmark* const facts = mllog::find_benchmark(benchmark);
  if (!facts) throw ConfigError(fmt::format("{}: '{}' is no known benchmark", path, benchmark));
  ReferenceSet set = empty_set(*facts, short_round(round));
  set.source = path;
  const Head head = embedded_head(*facts);
  set.leeway = head.leeway;
  const json records = base::load_config(path, {});
  for (const auto& [name, record] : records.items()) {
    const ObjectReader in(record, fmt::format("{}: {}", path, base::json_path("", name)));
    const auto of = in.required("Benchmark", "submission_benchmark", base::not_empty());
    if (of != benchmark && of != head.short_name) continue;
    const auto batch_size = in.required("BS", "global batch size", base::positive());
    const char* const key = in.has(kSamplesMember) ? kSamplesMember : kEpochsMember;
    const auto values = in.required(key, "one per run", durations(*facts));
    add_point(set, make_point(batch_size, values), in.where());
  }
  set.unit = unit_of(set, *facts);
  set.round.clear();
  return set;
}

std::optional<ReferenceSet> points_of(const std::string& usage, const std::string& round,
                                      const std::string& benchmark,
                                      const std::string& custom_points) {
  if (custom_points.empty()) return reference_points(usage, round, benchmark);
  if (!mllog::find_benchmark(benchmark)) return {};
  return read_custom_points(custom_points, round, benchmark);
}

}  // namespace analysis::submission

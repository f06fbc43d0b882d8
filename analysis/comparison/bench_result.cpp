// Compares results of bench.
#include "analysis/comparison/bench_result.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/comparison/conditions.h"
#include "runner/base/error.h"
#include "runner/base/median.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"

namespace analysis::comparison {
namespace {

using nlohmann::json;

constexpr std::size_t kFewestSteps = 3;
/// Of times in seconds and of counts, so that products and quotients of a few are finite.
constexpr double kLeast = 1e-12, kMost = 1e12;
constexpr double kMostLayer_ms = kMost * base::kMsPerSecond;
constexpr std::array kConditions = {"workload",         "batch_per_rank", "ranks",
                                    "threads_per_rank", "precision",      "image_size",
                                    "classes",          "bn_group_size",  "recompute"};

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw base::DataError(
      fmt::format("{}: {}; expected what trainmark bench --json writes", name, what));
}

bool is_positive(const json& value) {
  return value.is_number() && value.get<double>() >= kLeast && value.get<double>() <= kMost;
}

double positive(const json& object, const char* key, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(name, fmt::format("/{} is missing", key));
  if (!is_positive(*found)) {
    refuse(name, fmt::format("/{}: must be a positive number from {:g} to {:g}, got {}", key,
                             kLeast, kMost, base::brief_json(*found)));
  }
  return found->get<double>();
}

std::vector<double> step_times(const json& result, const std::string& name) {
  const json::json_pointer place("/step_s/times");
  if (!result.contains(place) || !result.at(place).is_array()) {
    refuse(name, "/step_s/times is missing");
  }
  std::vector<double> times;
  for (const json& time : result.at(place)) {
    if (!is_positive(time)) {
      refuse(name,
             fmt::format("/step_s/times: must hold positive numbers from {:g} to {:g}, got {}",
                         kLeast, kMost, base::brief_json(time)));
    }
    times.push_back(time.get<double>());
  }
  if (times.size() < kFewestSteps) {
    refuse(name, fmt::format("/step_s/times: must hold at least {} steps, got {}", kFewestSteps,
                             times.size()));
  }
  return times;
}

/// The times that `--layers` adds; empty without it.
LayerTimes layer_times(const json& result, const std::string& name) {
  LayerTimes times;
  const auto layers = result.find("layers");
  if (layers == result.end()) return times;
  if (!layers->is_array()) refuse(name, "/layers: must be a list");
  for (const json& layer : *layers) {
    const auto number = [&](const char* key) {
      const bool has = layer.is_object() && layer.contains(key) && layer[key].is_number();
      if (!has) refuse(name, fmt::format("/layers: must have numbers {}, got none", key));
      const auto value = layer[key].get<double>();
      if (!(value >= 0.0 && value <= kMostLayer_ms)) {
        refuse(name, fmt::format("/layers: {}: must be from 0 to {:g}, got {:g}", key,
                                 kMostLayer_ms, value));
      }
      return value * base::kMillisecond;
    };
    const double both = number("forward_ms") + number("backward_ms");
    const auto called = layer.find("name");
    if (called == layer.end() || !called->is_string()) refuse(name, "/layers: must have names");
    times[called->get<std::string>()] += both;
  }
  return times;
}

/// Interval of the ratio of medians.
Interval interval_of(const BenchResult& first, const BenchResult& second, std::uint64_t seed) {
  const double per_step = second.samples_per_step / first.samples_per_step;
  const auto median_at = [](const BenchResult& result, Drawn drawn) {
    std::vector<double> values;
    for (const std::size_t index : drawn) values.push_back(result.step_s[index]);
    return base::median_of(std::move(values));
  };
  return bootstrap_intervals(first.step_s.size(), second.step_s.size(), 1, seed, kDraws,
                             [&](Drawn of_first, Drawn of_second, std::span<double> ratio) {
                               ratio[0] = per_step * median_at(first, of_first) /
                                          median_at(second, of_second);
                             })
      .front();
}

/// Logarithms of seconds per sample, in which relative changes add up.
std::vector<double> logarithms(const BenchResult& result) {
  std::vector<double> values;
  for (const double seconds : result.step_s) {
    values.push_back(std::log(seconds / result.samples_per_step));
  }
  return values;
}

}  // namespace

double BenchResult::samples_per_s() const { return samples_per_step / base::median_of(step_s); }

BenchResult parse_bench(std::string_view text, const std::string& name) {
  const json result = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  if (!result.is_object()) refuse(name, "no JSON object");
  BenchResult bench;
  bench.name = name;
  bench.step_s = step_times(result, name);
  bench.layers = layer_times(result, name);
  bench.samples_per_step =
      positive(result, "batch_per_rank", name) * positive(result, "ranks", name);
  for (const char* const condition : kConditions) {
    const auto found = result.find(condition);
    if (found != result.end()) bench.conditions[condition] = base::brief_json(*found);
  }
  return bench;
}

double bench_p_value(const BenchResult& first, const BenchResult& second, std::uint64_t seed) {
  return permutation_p_value(logarithms(first), logarithms(second), seed);
}

BenchComparison compare_bench(const BenchResult& first, const BenchResult& second,
                              std::uint64_t seed) {
  BenchComparison comparison;
  comparison.ratio = second.samples_per_s() / first.samples_per_s();
  comparison.interval = interval_of(first, second, seed);
  comparison.p_value = bench_p_value(first, second, seed);
  comparison.distinguishable = comparison.p_value < kLevel;
  comparison.differences = differing_conditions(kConditions, first.conditions, second.conditions);
  if (!first.layers.empty() && !second.layers.empty()) {
    comparison.layers = layer_differences(first.layers, second.layers);
  }
  return comparison;
}

std::vector<BenchComparison> compare_benches(const std::vector<BenchResult>& results,
                                             std::uint64_t seed) {
  std::vector<BenchComparison> comparisons;
  std::vector<std::optional<double>> p_values;
  for (std::size_t i = 1; i < results.size(); ++i) {
    comparisons.push_back(compare_bench(results.front(), results[i], seed));
    p_values.push_back(comparisons.back().p_value);
  }
  p_values = holm_adjusted(p_values);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i].p_value = *p_values[i];
    comparisons[i].distinguishable = *p_values[i] < kLevel;
  }
  return comparisons;
}

}  // namespace analysis::comparison

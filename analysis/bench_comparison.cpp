// Which of two bench results is faster.
// Hides the statistics.
#include "analysis/bench_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/strict_json.h"

namespace analysis {
namespace {

using nlohmann::json;

constexpr std::size_t kFewestSteps = 3;
constexpr std::int64_t kDraws = 20000;
constexpr double kLevel = 0.05;
constexpr std::array kConditions = {"workload",         "batch_per_rank", "ranks",
                                    "threads_per_rank", "precision",      "image_size",
                                    "classes",          "bn_group_size",  "recompute"};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw base::DataError(
      fmt::format("{}: {}; expected what trainmark bench --json writes", name, what));
}

double positive(const json& object, const char* key, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(name, fmt::format("/{} is missing", key));
  if (!found->is_number() || !(found->get<double>() > 0.0)) {
    refuse(name,
           fmt::format("/{}: must be a positive number, got {}", key, base::brief_json(*found)));
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
    if (!time.is_number() || !(time.get<double>() > 0.0)) {
      refuse(name, "/step_s/times: must hold positive numbers, got " + base::brief_json(time));
    }
    times.push_back(time.get<double>());
  }
  if (times.size() < kFewestSteps) {
    refuse(name, fmt::format("/step_s/times: must hold at least {} steps, got {}", kFewestSteps,
                             times.size()));
  }
  return times;
}

std::vector<double> resampled(const std::vector<double>& values, base::RandomStream& random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) value = values[random.below(values.size())];
  return drawn;
}

/// Bootstrap of the ratio of medians: percentiles 2.5 and 97.5.
void set_interval(const BenchResult& first, const BenchResult& second, std::uint64_t seed,
                  BenchComparison& comparison) {
  base::RandomStream random(seed, base::Purpose::kBootstrap, 0, 0);
  const double per_step = second.samples_per_step / first.samples_per_step;
  std::vector<double> ratios(kDraws);
  for (double& ratio : ratios) {
    const double first_s = median(resampled(first.step_s, random));
    ratio = per_step * first_s / median(resampled(second.step_s, random));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(kDraws - 1))];
  };
  comparison.low = at(kLevel / 2.0);
  comparison.high = at(1.0 - kLevel / 2.0);
}

/// Number of ways to choose `chosen` of `all`, or kDraws + 1 where there are more than kDraws.
std::int64_t exchanges(std::size_t all, std::size_t chosen) {
  double ways = 1.0;
  for (std::size_t i = 0; i < chosen && ways <= static_cast<double>(kDraws); ++i) {
    ways = ways * static_cast<double>(all - i) / static_cast<double>(i + 1);
  }
  return ways > static_cast<double>(kDraws) ? kDraws + 1
                                            : static_cast<std::int64_t>(std::llround(ways));
}

/// Logarithms of seconds per sample, which rates of change add up in.
std::vector<double> logarithms(const BenchResult& result) {
  std::vector<double> values;
  for (const double seconds : result.step_s) {
    values.push_back(std::log(seconds / result.samples_per_step));
  }
  return values;
}

}  // namespace

double BenchResult::samples_per_s() const { return samples_per_step / median(step_s); }

BenchResult parse_bench(std::string_view text, const std::string& name) {
  const json result = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  if (!result.is_object()) refuse(name, "no JSON object");
  BenchResult bench;
  bench.name = name;
  bench.step_s = step_times(result, name);
  bench.samples_per_step =
      positive(result, "batch_per_rank", name) * positive(result, "ranks", name);
  for (const char* const condition : kConditions) {
    const auto found = result.find(condition);
    if (found != result.end()) bench.conditions[condition] = base::brief_json(*found);
  }
  return bench;
}

double bench_p_value(const BenchResult& first, const BenchResult& second, std::uint64_t seed) {
  std::vector<double> all = logarithms(first);
  const std::size_t count = all.size();
  const std::vector<double> others = logarithms(second);
  all.insert(all.end(), others.begin(), others.end());
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  const auto distance = [&](double part) {
    const double rest = sum - part;
    return std::abs(part / static_cast<double>(count) - rest / static_cast<double>(others.size()));
  };
  const double observed =
      distance(std::accumulate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), 0.0));
  const double as_much = observed * (1.0 - 1e-12);  // the same sum in another order
  std::int64_t extreme = 0, looked_at = 0;
  if (exchanges(all.size(), count) <= kDraws) {
    std::vector<bool> chosen(all.size(), false);
    std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count), true);
    do {
      double part = 0.0;
      for (std::size_t i = 0; i < all.size(); ++i) part += chosen[i] ? all[i] : 0.0;
      extreme += distance(part) >= as_much ? 1 : 0;
      ++looked_at;
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    return static_cast<double>(extreme) / static_cast<double>(looked_at);
  }
  base::RandomStream random(seed, base::Purpose::kBootstrap, 1, 0);
  for (; looked_at < kDraws; ++looked_at) {
    double part = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(all[i], all[i + random.below(all.size() - i)]);
      part += all[i];
    }
    extreme += distance(part) >= as_much ? 1 : 0;
  }
  // What was observed is one of them.
  return static_cast<double>(extreme + 1) / static_cast<double>(looked_at + 1);
}

BenchComparison compare_bench(const BenchResult& first, const BenchResult& second,
                              std::uint64_t seed) {
  BenchComparison comparison;
  comparison.ratio = second.samples_per_s() / first.samples_per_s();
  set_interval(first, second, seed, comparison);
  comparison.p_value = bench_p_value(first, second, seed);
  comparison.distinguishable = comparison.p_value < kLevel;
  for (const char* const condition : kConditions) {
    const auto value_in = [&](const BenchResult& result) {
      const auto found = result.conditions.find(condition);
      return found == result.conditions.end() ? std::string("none") : found->second;
    };
    if (value_in(first) == value_in(second)) continue;
    comparison.differences.push_back(
        fmt::format("{}: {} and {}", condition, value_in(first), value_in(second)));
  }
  return comparison;
}

}  // namespace analysis

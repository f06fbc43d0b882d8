// Reads the telemetry that a run writes next to its log.
#include "analysis/telemetry_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/value.h"
#include "runner/base/error.h"
#include "runner/base/units.h"
#include "runner/telemetry/report_file.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using telemetry::RankReport;

Breakdown subsystems_of(const telemetry::Report& file) {
  Breakdown breakdown;
  breakdown.wall_s = file.wall_s().mean;
  for (int i = 0; i < telemetry::kSubsystemCount; ++i) {
    const auto subsystem = static_cast<telemetry::Subsystem>(i);
    const telemetry::Spread seconds = file.seconds(subsystem);
    Part part;
    part.name = telemetry::to_string(subsystem);
    part.definition = telemetry::subsystem_definition(subsystem);
    part.min_s = seconds.min;
    part.mean_s = seconds.mean;
    part.max_s = seconds.max;
    part.min_rank = seconds.min_rank;
    part.max_rank = seconds.max_rank;
    if (breakdown.wall_s > 0.0) part.percent = base::kPercent * seconds.mean / breakdown.wall_s;
    breakdown.parts.push_back(std::move(part));
  }
  return breakdown;
}

enum class Sum { kShown, kMeaningless };

/// One quantity over the ranks; `read` returns that of one rank.
template <class Read>
Quantity over_ranks(const telemetry::Report& file, const std::string& name,
                    const std::string& definition, Sum sum, Read read) {
  Quantity quantity{name, definition, 0.0, 0.0, 0.0, {}};
  double total = 0.0;
  quantity.min = quantity.max = static_cast<double>(read(file.ranks.front()));
  for (const RankReport& rank : file.ranks) {
    const auto value = static_cast<double>(read(rank));
    total += value;
    quantity.min = std::min(quantity.min, value);
    quantity.max = std::max(quantity.max, value);
  }
  quantity.mean = total / static_cast<double>(file.ranks.size());
  if (sum == Sum::kShown) quantity.sum = total;
  return quantity;
}

/// Bytes per second; 0 if nothing was exchanged.
double exchange_rate(const RankReport& rank) {
  const auto count = [&](telemetry::Counter counter) {
    return static_cast<double>(rank.counters[static_cast<std::size_t>(counter)]);
  };
  const double seconds = count(telemetry::Counter::kExchangeTotalNs) * base::kNanosecond;
  return seconds > 0.0 ? count(telemetry::Counter::kBytesSent) / seconds : 0.0;
}

double measuring_percent(const RankReport& rank) {
  return rank.wall_s > 0.0 ? base::kPercent * rank.scope_cost_s / rank.wall_s : 0.0;
}

/// Whether the version that wrote the file had the counter.
bool is_counted(const telemetry::Report& file, telemetry::Counter counter) {
  using telemetry::Counter;
  if (counter >= Counter::kGradientBytesSent) return file.has_gradients;
  if (counter >= Counter::kBytesFromMemory) return file.has_cache;
  return counter < Counter::kBytesFromCopy || file.has_levels;
}

std::vector<Quantity> quantities_of(const telemetry::Report& file) {
  std::vector<Quantity> list;
  for (std::size_t i = 0; i < telemetry::kCounterCount; ++i) {
    const auto counter = static_cast<telemetry::Counter>(i);
    if (!is_counted(file, counter)) continue;
    list.push_back(over_ranks(file, telemetry::to_string(counter),
                              telemetry::counter_definition(counter), Sum::kShown,
                              [i](const RankReport& rank) { return rank.counters[i]; }));
  }
  const auto add_step = [&](const char* name, const char* what, double telemetry::StepTimes::*of) {
    list.push_back(over_ranks(file, name, fmt::format("{} wall time of a training step", what),
                              Sum::kMeaningless,
                              [of](const RankReport& rank) { return rank.step_s.*of; }));
  };
  add_step("step_mean_s", "mean", &telemetry::StepTimes::mean);
  add_step("step_p50_s", "median", &telemetry::StepTimes::p50);
  add_step("step_p99_s", "99th percentile of the", &telemetry::StepTimes::p99);
  add_step("step_max_s", "largest", &telemetry::StepTimes::max);
  list.push_back(over_ranks(file, "exchange_bytes_per_s",
                            "bytes_sent / exchange_total_ns: the rate of communication",
                            Sum::kMeaningless, exchange_rate));
  list.push_back(over_ranks(
      file, "measuring_percent",
      "cost of measuring in percent of the rank's wall time (scopes entered * measured cost of "
      "one); below 0.5, as it should be, it does not affect the figures",
      Sum::kMeaningless, measuring_percent));
  list.push_back(over_ranks(
      file, "peak_rss_bytes",
      "largest resident set of the rank's process; under mpirun it counts shared-memory segments",
      Sum::kMeaningless, [](const RankReport& rank) { return rank.peak_rss_bytes; }));
  return list;
}

/// Cost of measuring / wall time, both summed over the ranks.
std::optional<double> overhead_of(const telemetry::Report& file) {
  double cost_s = 0.0;
  double wall_s = 0.0;
  for (const RankReport& rank : file.ranks) {
    cost_s += rank.scope_cost_s;
    wall_s += rank.wall_s;
  }
  if (wall_s <= 0.0) return std::nullopt;
  return cost_s / wall_s;
}

std::vector<RankParts> parts_by_rank(const telemetry::Report& file) {
  std::vector<RankParts> all;
  for (const RankReport& rank : file.ranks) {
    all.push_back({rank.identity.rank,
                   rank.identity.host,
                   {rank.subsystems_s.begin(), rank.subsystems_s.end()}});
  }
  return all;
}

/// Sums the ranks' histograms; buckets of all ranks have the same bounds (powers of one number).
std::vector<StepCount> step_histogram(const telemetry::Report& file) {
  std::map<double, StepCount> by_low;
  for (const RankReport& rank : file.ranks) {
    for (const telemetry::StepBucket& bucket : rank.step_s.buckets) {
      StepCount& count = by_low[bucket.low_s];
      count.low_s = bucket.low_s;
      count.high_s = bucket.high_s;
      constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
      count.steps = bucket.count > kMost - count.steps ? kMost : count.steps + bucket.count;
    }
  }
  std::vector<StepCount> histogram;
  for (const auto& [low, count] : by_low) histogram.push_back(count);
  return histogram;
}

std::optional<SampleLevels> levels_of(const telemetry::Report& file) {
  using telemetry::Counter;
  if (!file.has_levels) return std::nullopt;
  return SampleLevels{file.total(Counter::kSamplesFromCopy), file.total(Counter::kBytesFromCopy),
                      file.total(Counter::kSamplesFromSource),
                      file.total(Counter::kBytesFromSource), file.total(Counter::kRepairedSamples)};
}

std::optional<CacheLevels> cache_of(const telemetry::Report& file) {
  using telemetry::Counter;
  if (!file.has_cache) return std::nullopt;
  return CacheLevels{file.total(Counter::kSamplesFromMemory), file.total(Counter::kBytesFromMemory),
                     file.total(Counter::kSamplesFromDisk),   file.total(Counter::kBytesFromDisk),
                     file.total(Counter::kSamplesFromPeers),  file.total(Counter::kBytesFromPeers)};
}

RunTelemetry summary_of(const telemetry::Report& file) {
  RunTelemetry summary;
  summary.ranks = static_cast<std::int64_t>(file.ranks.size());
  summary.subsystems = subsystems_of(file);
  summary.by_rank = parts_by_rank(file);
  summary.step_histogram = step_histogram(file);
  summary.quantities = quantities_of(file);
  summary.levels = levels_of(file);
  summary.cache = cache_of(file);
  summary.waiting = find_waiting(file);
  summary.longest_wall_s = file.wall_s().max;
  summary.shortest_wall_s = file.wall_s().min;
  summary.overhead_fraction = overhead_of(file);
  summary.provenance_json = file.provenance;
  summary.provenance = flat_members(nlohmann::json::parse(file.provenance, nullptr, false));
  return summary;
}

}  // namespace

std::optional<RunTelemetry> read_telemetry_of(const fs::path& log, std::vector<Finding>& findings) {
  const fs::path path = fs::path(log).replace_extension(".telemetry.json");
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  try {
    return summary_of(telemetry::read_report(path.string()));
  } catch (const base::Error& error) {
    findings.push_back(make_finding(Rule::kTelemetryDamaged, {}, error.what()));
    return std::nullopt;
  }
}

}  // namespace analysis

// Reads and checks the telemetry file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/report_schema.h"

namespace telemetry {

namespace {

using Json = nlohmann::json;

/// A rank takes about 3 KB.
constexpr std::int64_t kMostReportBytes = std::int64_t{256} << 20;

/// A JSON value that knows its path. Unknown members are ignored: later versions may add some.
class Value {
 public:
  Value(const Json& json, const std::string& name, std::string path)
      : json_(json), name_(name), path_(std::move(path)) {}

  Value operator[](const std::string& key) const {
    if (!json_.is_object()) refuse("must be an object");
    const auto member = json_.find(key);
    if (member == json_.end()) {
      throw base::DataError(name_ + ": " + base::json_path(path_, key) + ": is missing");
    }
    return Value(*member, name_, base::json_path(path_, key));
  }

  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }

  Value operator[](std::size_t index) const {
    return Value(json_[index], name_, base::json_path(path_, std::to_string(index)));
  }

  std::size_t array_size() const {
    if (!json_.is_array()) refuse("must be an array");
    return json_.size();
  }

  std::string text() const {
    if (!json_.is_string()) refuse("must be a string");
    return json_.get<std::string>();
  }

  std::string object_text() const {
    if (!json_.is_object()) refuse("must be an object");
    return json_.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  double not_negative() const {
    if (!json_.is_number() || !std::isfinite(json_.get<double>()) || json_.get<double>() < 0) {
      refuse("must be a finite number that is not negative");
    }
    return json_.get<double>();
  }

  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    const bool fits = json_.is_number_integer() &&
                      !(json_.is_number_unsigned() &&
                        json_.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) &&
                      json_.get<std::int64_t>() >= low && json_.get<std::int64_t>() <= high;
    if (!fits) {
      refuse("must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return json_.get<std::int64_t>();
  }

  std::int64_t count() const { return integer(0, std::numeric_limits<std::int64_t>::max()); }
  int small_count(int low) const {
    return static_cast<int>(integer(low, std::numeric_limits<int>::max()));
  }

  [[noreturn]] void refuse(const std::string& expectation) const {
    throw base::DataError(name_ + ": " + (path_.empty() ? "" : path_ + ": ") + expectation +
                          ", got " + base::brief_json(json_));
  }

 private:
  const Json& json_;
  const std::string& name_;
  std::string path_;
};

/// The histogram of all steps: bucket i covers growth^i up to growth^(i+1) nanoseconds.
std::vector<StepBucket> read_buckets(const Value& in, std::int64_t steps) {
  const double growth = in["bucket_growth"].not_negative();
  if (!(growth > 1.0)) in["bucket_growth"].refuse("must be larger than 1");
  constexpr std::int64_t kMostBuckets = 100000;
  const Value list = in["bucket_counts"];
  std::vector<StepBucket> buckets;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < list.array_size(); ++i) {
    if (list[i].array_size() != 2) list[i].refuse("must hold a bucket and its count");
    const auto bucket = static_cast<double>(list[i][0].integer(0, kMostBuckets));
    const std::int64_t count = list[i][1].integer(1, std::max<std::int64_t>(steps - sum, 1));
    buckets.push_back({std::pow(growth, bucket) * base::kNanosecond,
                       std::pow(growth, bucket + 1.0) * base::kNanosecond, count});
    const bool rises = i == 0 || buckets[i - 1].low_s < buckets[i].low_s;
    if (!rises || !std::isfinite(buckets[i].high_s)) list[i].refuse("must be finite, and rise");
    sum += count;
  }
  if (sum != steps) {
    list.refuse(fmt::format("must count {} steps in all, but counts {}", steps, sum));
  }
  return buckets;
}

StepTimes read_steps(const Value& in) {
  StepTimes steps;
  steps.count = in["count"].count();
  steps.mean = in["mean"].not_negative();
  steps.min = in["min"].not_negative();
  steps.p50 = in["p50"].not_negative();
  steps.p90 = in["p90"].not_negative();
  steps.p99 = in["p99"].not_negative();
  steps.max = in["max"].not_negative();
  if (in.has("bucket_counts")) steps.buckets = read_buckets(in, steps.count);
  return steps;
}

void require_sum(const Value& in, const RankReport& rank) {
  double sum = 0;
  for (const double seconds : rank.subsystems_s) sum += seconds;
  if (std::abs(sum - rank.wall_s) > kSumTolerance * rank.wall_s) {
    std::ostringstream expectation;
    expectation << "must sum to wall_s " << rank.wall_s << " within 1 %, but sums to " << sum;
    in.refuse(expectation.str());
  }
}

/// Missing members count as 0 s.
void read_within(const Value& in, RankReport& rank) {
  for (int i = 0; i < kSubsystemCount; ++i) {
    const std::string outer = to_string(static_cast<Subsystem>(i));
    if (!in.has(outer)) continue;
    const Value parts = in[outer];
    double sum = 0;
    for (int j = 0; j < kSubsystemCount; ++j) {
      const std::string inner = to_string(static_cast<Subsystem>(j));
      if (!parts.has(inner)) continue;
      const double seconds = parts[inner].not_negative();
      rank.within_s[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = seconds;
      sum += seconds;
    }
    const double whole = rank.subsystems_s[static_cast<std::size_t>(i)];
    if (sum > whole + kSumTolerance * rank.wall_s) {
      parts.refuse(
          fmt::format("must sum to at most the {} s of {}, but sums to {}", whole, outer, sum));
    }
  }
}

/// Counters that one version of this program began to write come together.
bool has_all(const Value& counters, Counter first, Counter last) {
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    if (!counters.has(to_string(static_cast<Counter>(i)))) return false;
  }
  return true;
}

bool has_levels(const Value& counters) {
  return has_all(counters, Counter::kBytesFromCopy, Counter::kRepairedSamples);
}

bool has_cache(const Value& counters) {
  return has_all(counters, Counter::kBytesFromMemory, Counter::kSamplesFromPeers);
}

bool has_gradients(const Value& counters) {
  return has_all(counters, Counter::kGradientBytesSent, Counter::kGradientMessagesSent);
}

RankReport read_rank(const Value& in, std::size_t position) {
  RankReport rank;
  rank.identity.rank = in["rank"].small_count(0);
  if (static_cast<std::size_t>(rank.identity.rank) != position) {
    in["rank"].refuse("must be " + std::to_string(position) + ", its place in the list");
  }
  rank.identity.host = in["host"].text();
  rank.identity.node = in["node"].small_count(0);
  rank.identity.threads = in["threads"].small_count(1);
  rank.wall_s = in["wall_s"].not_negative();
  const Value subsystems = in["subsystems_s"], counters = in["counters"];
  for (int i = 0; i < kSubsystemCount; ++i) {
    rank.subsystems_s[static_cast<std::size_t>(i)] =
        subsystems[std::string(to_string(static_cast<Subsystem>(i)))].not_negative();
  }
  require_sum(subsystems, rank);
  if (in.has("within_s")) read_within(in["within_s"], rank);
  for (int i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    const std::string name = to_string(counter);
    // Files written before these counters existed lack them.
    if (counter >= Counter::kFlawedSamples && !counters.has(name)) continue;
    rank.counters[static_cast<std::size_t>(i)] = counters[name].count();
  }
  rank.step_s = read_steps(in["step_s"]);
  rank.peak_rss_bytes = in["peak_rss_bytes"].count();
  rank.scopes = in["scopes"].count();
  rank.scope_cost_s = in["scope_cost_s"].not_negative();
  return rank;
}

template <class Figure>
Spread spread_of(const std::vector<RankReport>& ranks, Figure figure) {
  Spread spread;
  if (ranks.empty()) return spread;
  spread.min = spread.max = figure(ranks.front());
  double sum = 0;
  for (const RankReport& rank : ranks) {
    const double value = figure(rank);
    sum += value;
    if (value < spread.min) {
      spread.min = value;
      spread.min_rank = rank.identity.rank;
    }
    if (value > spread.max) {
      spread.max = value;
      spread.max_rank = rank.identity.rank;
    }
  }
  spread.mean = sum / static_cast<double>(ranks.size());
  return spread;
}

}  // namespace

Spread Report::seconds(Subsystem subsystem) const {
  return spread_of(ranks, [&](const RankReport& rank) {
    return rank.subsystems_s.at(static_cast<std::size_t>(subsystem));
  });
}

Spread Report::wall_s() const {
  return spread_of(ranks, [](const RankReport& rank) { return rank.wall_s; });
}

std::int64_t Report::total(Counter counter) const {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const RankReport& rank : ranks) {
    const std::int64_t count = rank.counters.at(static_cast<std::size_t>(counter));
    sum = count > kMost - sum ? kMost : sum + count;
  }
  return sum;
}

Report parse_report(const std::string& text, const std::string& name) {
  const Json json = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  const Value in(json, name, "");
  const std::int64_t schema = in["schema"].count();
  if (schema != kReportSchema) {
    in["schema"].refuse("must be " + std::to_string(kReportSchema) +
                        " (another version of this program wrote it)");
  }
  Report report;
  report.workload = in["workload"].text();
  report.provenance = in["provenance"].object_text();
  if (in.has("layers")) {
    const Value layers = in["layers"];
    for (std::size_t i = 0; i < layers.array_size(); ++i) {
      report.layers.push_back({layers[i]["layer"].text(), layers[i]["method"].text()});
    }
  }
  const Value ranks = in["ranks"];
  const std::size_t count = ranks.array_size();
  if (count == 0) ranks.refuse("must hold at least one rank");
  report.has_within = report.has_levels = report.has_cache = report.has_gradients = true;
  for (std::size_t i = 0; i < count; ++i) {
    report.ranks.push_back(read_rank(ranks[i], i));
    report.has_within = report.has_within && ranks[i].has("within_s");
    report.has_levels = report.has_levels && has_levels(ranks[i]["counters"]);
    report.has_cache = report.has_cache && has_cache(ranks[i]["counters"]);
    report.has_gradients = report.has_gradients && has_gradients(ranks[i]["counters"]);
  }
  return report;
}

Report read_report(const std::string& path) {
  std::string problem;
  const auto text = base::read_text(path, problem, kMostReportBytes);
  if (!text) throw base::DataError(path + ": " + problem);
  return parse_report(*text, path);
}

}  // namespace telemetry

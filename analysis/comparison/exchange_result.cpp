// Compares results of `bench exchange`.
#include "analysis/comparison/exchange_result.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "analysis/comparison/conditions.h"
#include "runner/base/error.h"
#include "runner/base/median.h"
#include "runner/base/strict_json.h"

namespace analysis::comparison {
namespace {

using nlohmann::json;

/// Of seconds and of bytes a second, so that their quotients are finite.
constexpr double kLeastFigure = 1e-12, kMostFigure = 1e18;
constexpr std::array kExchangeConditions = {"ranks", "nodes", "threads_per_rank"};
constexpr std::array kSides = {"training", "mpi"};

[[noreturn]] void refuse_exchange(const std::string& name, const std::string& what) {
  throw base::DataError(
      fmt::format("{}: {}; expected what trainmark bench exchange --json writes", name, what));
}

double positive_figure(const json& value, const std::string& name, const std::string& place) {
  if (value.is_number() && value.get<double>() >= kLeastFigure &&
      value.get<double>() <= kMostFigure) {
    return value.get<double>();
  }
  refuse_exchange(name, fmt::format("{}: must be a positive number from {:g} to {:g}, got {}",
                                    place, kLeastFigure, kMostFigure, base::brief_json(value)));
}

/// The member; null if there is none.
const json& member(const json& object, const char* key) {
  static const json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? none : *found;
}

ExchangeTimes times_of(const json& side, const std::string& name, const std::string& place) {
  const json& listed = member(member(side, "time_s"), "times");
  if (!listed.is_array() || listed.empty()) {
    refuse_exchange(name, fmt::format("{}/time_s/times: must be a list of seconds, got {}", place,
                                      base::brief_json(listed)));
  }
  ExchangeTimes times;
  for (const json& one : listed) {
    times.seconds.push_back(positive_figure(one, name, place + "/time_s/times"));
  }
  times.bus_bytes_per_s =
      positive_figure(member(side, "busbw_bytes_per_s"), name, place + "/busbw_bytes_per_s");
  return times;
}

void take_row(const json& row, const std::string& place, ExchangeResult& result) {
  const json& operation = member(row, "operation");
  const json& bytes = member(row, "bytes");
  if (!operation.is_string()) refuse_exchange(result.name, place + "/operation: must be a name");
  if (!bytes.is_number_integer() || bytes.get<std::int64_t>() < 1) {
    refuse_exchange(result.name, fmt::format("{}/bytes: must be a positive whole number, got {}",
                                             place, base::brief_json(bytes)));
  }
  for (const char* const side : kSides) {
    const json& found = member(row, side);
    if (found.is_null()) continue;  // of earlier versions: training had no such exchange
    ExchangeKey key{operation.get<std::string>(), bytes.get<std::int64_t>(), side};
    auto times = times_of(found, result.name, place + "/" + side);
    if (!result.rows.emplace(std::move(key), std::move(times)).second) {
      refuse_exchange(result.name,
                      fmt::format("{}: a second row of {} bytes of {}", place,
                                  bytes.get<std::int64_t>(), operation.get<std::string>()));
    }
  }
}

ExchangeDifference difference_of(const ExchangeKey& key, const ExchangeTimes& first,
                                 const ExchangeTimes& second, std::uint64_t seed) {
  ExchangeDifference row;
  row.key = key;
  row.first_s = base::median_of(first.seconds);
  row.second_s = base::median_of(second.seconds);
  row.first_bus_bytes_per_s = first.bus_bytes_per_s;
  row.second_bus_bytes_per_s = second.bus_bytes_per_s;
  row.ratio = row.first_s / row.second_s;
  // Logarithms, in which relative changes add up.
  const auto logarithms = [](std::vector<double> seconds) {
    for (double& one : seconds) one = std::log(one);
    return seconds;
  };
  const std::vector<double> before = logarithms(first.seconds), now = logarithms(second.seconds);
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  row.is_faster = mean(now) < mean(before);
  if (least_p_value(before.size(), now.size()) < kLevel) {
    row.p_value = permutation_p_value(before, now, seed);
  }
  return row;
}

}  // namespace

std::optional<ExchangeResult> parse_exchange(std::string_view text, const std::string& name) {
  const json document = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  if (member(document, "kind") != "exchange") return std::nullopt;
  ExchangeResult result;
  result.name = name;
  const json& failure = member(document, "failure");
  if (!failure.is_null()) {
    throw base::DataError(
        fmt::format("{}: its results cannot be trusted: {}", name, base::brief_json(failure)));
  }
  const json& rows = member(document, "rows");
  if (!rows.is_array()) refuse_exchange(name, "/rows: must be a list");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    take_row(rows[i], fmt::format("/rows/{}", i), result);
  }
  for (const char* const condition : kExchangeConditions) {
    const json& value = member(document, condition);
    if (!value.is_null()) result.conditions[condition] = base::brief_json(value);
  }
  return result;
}

ExchangeComparison compare_exchanges(const ExchangeResult& first, const ExchangeResult& second,
                                     std::uint64_t seed) {
  ExchangeComparison comparison;
  std::vector<std::optional<double>> p_values;
  for (const auto& [key, times] : first.rows) {
    const auto other = second.rows.find(key);
    if (other == second.rows.end()) continue;
    comparison.rows.push_back(difference_of(key, times, other->second, seed));
    p_values.push_back(comparison.rows.back().p_value);
  }
  p_values = holm_adjusted(p_values);
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    comparison.rows[i].p_value = p_values[i];
    comparison.rows[i].distinguishable = p_values[i] && *p_values[i] < kLevel;
  }
  if (comparison.rows.empty()) {
    throw base::ConfigError(fmt::format(
        "{} and {}: expected rows of the same operations and sizes, found none; on other "
        "numbers of ranks sizes differ unless both are powers of two",
        first.name, second.name));
  }
  const std::int64_t both = std::ssize(comparison.rows);
  comparison.only_first = std::ssize(first.rows) - both;
  comparison.only_second = std::ssize(second.rows) - both;
  comparison.differences =
      differing_conditions(kExchangeConditions, first.conditions, second.conditions);
  return comparison;
}

}  // namespace analysis::comparison

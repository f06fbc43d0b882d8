// Units, and rates in files that other commands write.
#include "runner/scale/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"
#include "runner/telemetry/report_file.h"

namespace scale {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using telemetry::Subsystem;
using Units = std::vector<std::pair<std::string_view, double>>;

constexpr std::string_view kTelemetryEnding = ".telemetry.json";
/// What is proportional to the samples of a rank, or nearly so.
constexpr std::array kComputing = {Subsystem::kInput, Subsystem::kForward, Subsystem::kBackward,
                                   Subsystem::kOptimizer};

/// A positive number and one of the units.
double parse(const std::string& option, const std::string& text, const Units& units) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const auto found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  const double value = found == units.end() ? 0.0 : number * found->second;
  if (error != std::errc() || !std::isfinite(value) || value <= 0) {
    std::string names;
    for (const auto& [name, factor] : units) names += fmt::format(" {}", name);
    throw base::ConfigError(
        fmt::format("scale: {}: expected a positive number with one of the units{}, got '{}'",
                    option, names, text));
  }
  return value;
}

json read_json(const std::string& path) {
  std::string problem;
  const auto text = base::read_text(path, problem);
  if (!text) throw base::DataError(path + ": " + problem);
  return base::parse_strict_json(*text, path, base::JsonComments::kRefused);
}

/// The member at `pointer`. Throws DataError unless it is a number above 0.
double positive_at(const json& document, const std::string& path, const std::string& pointer) {
  const json::json_pointer place(pointer);
  const json found = document.contains(place) ? document.at(place) : json();
  constexpr double kMost = 1e18;  // an integer holds it
  if (!found.is_number() || !(found.get<double>() > 0) || found.get<double>() > kMost) {
    throw base::DataError(fmt::format("{}: {}: expected a number above 0 and up to 1e18, got {}",
                                      path, pointer, base::brief_json(found)));
  }
  return found.get<double>();
}

/// The time of a step that is proportional to its samples.
double bench_compute_s(const json& bench, const std::string& path) {
  double seconds = 0;
  for (const Subsystem part : kComputing) {
    const std::string name = telemetry::to_string(part);
    const json parts = bench.value("breakdown_s_per_step", json::object());
    const json found = parts.is_object() ? parts.value(name, json()) : json();
    if (!found.is_number() || found.get<double>() < 0) {
      throw base::DataError(fmt::format("{}: /breakdown_s_per_step/{}: expected seconds, got {}",
                                        path, name, base::brief_json(found)));
    }
    seconds += found.get<double>();
  }
  return seconds;
}

ComputeRate rate_of_bench(const json& bench, const std::string& path) {
  const double batch = positive_at(bench, path, "/batch_per_rank");
  const double seconds = bench_compute_s(bench, path);
  const json workload = bench.value("workload", json());
  if (!(seconds > 0) || !workload.is_string()) {
    throw base::DataError(path + ": expected the JSON of a bench with a workload and times");
  }
  return {batch / seconds, path,
          static_cast<std::int64_t>(positive_at(bench, path, "/flops_per_sample")),
          workload.get<std::string>()};
}

ComputeRate rate_of_run(const std::string& path) {
  const telemetry::Report report = telemetry::read_report(path);
  double seconds = 0;
  for (const telemetry::RankReport& rank : report.ranks) {
    for (const Subsystem part : kComputing) {
      seconds += rank.subsystems_s[static_cast<std::size_t>(part)];
    }
  }
  const std::int64_t samples = report.total(telemetry::Counter::kTrainSamples);
  if (samples == 0 || !(seconds > 0)) {
    throw base::DataError(path + ": expected a run that trained samples, found none");
  }
  // Samples that did not decode were computed, but not counted.
  const bool is_exact = report.total(telemetry::Counter::kSkippedSamples) == 0;
  return {static_cast<double>(samples) / seconds, path,
          is_exact ? report.total(telemetry::Counter::kFlops) / samples : 0, report.workload};
}

/// The newest telemetry file of a folder.
std::string newest_run(const fs::path& folder) {
  std::optional<std::pair<fs::file_time_type, std::string>> newest;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    std::error_code gone;
    const fs::file_time_type written = entry->last_write_time(gone);
    if (gone || !path.ends_with(kTelemetryEnding)) continue;
    const std::pair one(written, path);
    if (!newest || *newest < one) newest = one;
  }
  if (error) throw base::DataError(folder.string() + ": " + error.message());
  if (newest) return newest->second;
  throw base::DataError(fmt::format("{}: expected a run's file, result_1{}, found none",
                                    folder.string(), kTelemetryEnding));
}

}  // namespace

double parse_link_rate(const std::string& text) {
  constexpr double kBit = 1.0 / 8.0;
  const Units units = {{"bit/s", kBit},        {"kbit/s", 1e3 * kBit},  {"Mbit/s", 1e6 * kBit},
                       {"Gbit/s", 1e9 * kBit}, {"Tbit/s", 1e12 * kBit}, {"B/s", 1.0},
                       {"kB/s", 1e3},          {"MB/s", 1e6},           {"GB/s", 1e9}};
  return parse("--link", text, units);
}

double parse_latency(const std::string& text) {
  return parse("--latency", text,
               {{"ns", base::kNanosecond},
                {"us", base::kMicrosecond},
                {"ms", base::kMillisecond},
                {"s", 1.0}});
}

ComputeRate read_compute_rate(const std::string& path) {
  std::error_code error;  // a path that cannot be looked at is refused when it is read
  if (fs::is_directory(path, error)) return rate_of_run(newest_run(path));
  if (path.ends_with(kTelemetryEnding)) return rate_of_run(path);
  const json document = read_json(path);
  if (document.is_object() && document.contains("batch_per_rank")) {
    return rate_of_bench(document, path);
  }
  throw base::DataError(path +
                        ": expected a run's telemetry file, a folder with one, or the JSON of "
                        "trainmark bench WORKLOAD");
}

Link read_link(const std::string& path) {
  const json document = read_json(path);
  if (!document.is_object() || document.value("kind", json()) != "exchange" ||
      !document.value("links", json()).is_array()) {
    throw base::DataError(path + ": expected the JSON of trainmark bench exchange");
  }
  if (document["links"].empty()) {
    throw base::DataError(path + ": /links: expected links between nodes, found none");
  }
  Link slowest{0, 0, path};
  for (std::size_t i = 0; i < document["links"].size(); ++i) {
    const std::string place = fmt::format("/links/{}/", i);
    const double rate = positive_at(document, path, place + "bytes_per_s");
    slowest.bytes_per_s = i == 0 ? rate : std::min(slowest.bytes_per_s, rate);
    slowest.latency_s =
        std::max(slowest.latency_s, positive_at(document, path, place + "latency_s"));
  }
  return slowest;
}

}  // namespace scale

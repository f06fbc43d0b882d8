// Searches result files for comparable runs.
#include "runner/earlier_runs.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/strict_json.h"
#include "runner/renamed_keys.h"
#include "runner/telemetry/report_file.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kConfigEnding = ".config.json";
constexpr std::string_view kTelemetryEnding = ".telemetry.json";

/// Removes keys that do not affect the work.
Json work_of(Json config, Work work) {
  for (const char* key :
       {"seed", "epochs", "target", "submission", "results", "evaluation", "schedule", "optimizer",
        "clear_caches", "hang_timeout_s", "lost_timeout_s", "checkpoint"}) {
    config.erase(key);
  }
  if (work == Work::kSteps) {
    for (const char* key : {"staging", "cache"}) config.erase(key);
  }
  return config;
}

/// Nothing for a file that is not the configuration of a run.
std::optional<Json> read_config(const std::string& path) {
  std::string problem;
  const auto text = base::read_text(path, problem);
  if (!text) return std::nullopt;
  try {
    Json config = base::parse_strict_json(*text, path, base::JsonComments::kRefused);
    if (!config.is_object()) return std::nullopt;
    rename_old_keys(config, path);  // so that it compares with today's names
    return config;
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

std::optional<EarlierRun> read(const std::string& telemetry_file, int ranks) {
  try {
    const telemetry::Report report = telemetry::read_report(telemetry_file);
    if (static_cast<int>(report.ranks.size()) != ranks) return std::nullopt;
    EarlierRun run{telemetry_file, report.seconds(telemetry::Subsystem::kStaging).max, 0.0, 0.0,
                   0.0};
    double steps_s = 0.0;
    for (const telemetry::RankReport& rank : report.ranks) {
      run.step_s = std::max(run.step_s, rank.step_s.mean);
      const auto input = rank.subsystems_s[static_cast<std::size_t>(telemetry::Subsystem::kInput)];
      if (rank.step_s.count > 0) {
        const double input_s = input / static_cast<double>(rank.step_s.count);
        run.compute_s = std::max(run.compute_s, rank.step_s.mean - input_s);
      }
      steps_s = std::max(steps_s, rank.step_s.mean * static_cast<double>(rank.step_s.count));
    }
    if (steps_s <= 0.0) return std::nullopt;
    run.rest_share = std::max(0.0, report.wall_s().max - run.staging_s - steps_s) / steps_s;
    return run;
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<EarlierRun> find_earlier_run(const std::string& folder, const Json& resolved,
                                           int ranks, Work work) {
  std::vector<std::pair<fs::file_time_type, std::string>> candidates;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (path.ends_with(kConfigEnding)) {
      candidates.emplace_back(fs::last_write_time(it->path(), error), path);
    }
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const auto& [time, path] : candidates) {
    const std::optional<Json> config = read_config(path);
    if (!config || work_of(*config, work) != work_of(resolved, work)) continue;
    const std::string stem = path.substr(0, path.size() - kConfigEnding.size());
    if (auto run = read(stem + std::string(kTelemetryEnding), ranks)) return run;
  }
  return std::nullopt;
}

}  // namespace runner

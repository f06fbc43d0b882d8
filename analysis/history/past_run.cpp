// A past run, as the index stores it.
#include "analysis/history/past_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/facts.h"
#include "analysis/facts_of_log.h"
#include "analysis/find_logs.h"
#include "analysis/log_file.h"
#include "analysis/run_settings.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/mllog/keys.h"

namespace analysis::history {
namespace {

namespace fs = std::filesystem;
namespace keys = mllog::keys;

/// The folder above that of the log: results/<system>/<workload>/result_<n>.txt.
std::string system_of(const fs::path& log) {
  return full_path(log).parent_path().parent_path().filename().string();
}

std::string revision_of(const RunTelemetry& telemetry) {
  for (const auto& [name, value] : telemetry.provenance) {
    if (name == "build.revision") return value;
  }
  return "";
}

/// For runs of other programs: batch size, data, optimizer, nodes, ranks and division from the log.
std::map<std::string, std::string> logged_settings(const RunFacts& facts) {
  std::map<std::string, std::string> settings;
  for (const char* const key :
       {keys::kGlobalBatchSize, keys::kTrainSamples, keys::kEvalSamples, keys::kOptName,
        keys::kNumberOfNodes, keys::kNumberOfRanks, keys::kSubmissionDivision}) {
    const std::string value = facts.config_text(key);
    if (!value.empty()) settings[std::string("log.") + key] = value;
  }
  return settings;
}

/// Throws DataError for a file that is no log. An empty one is the log of a run that has just
/// begun.
void require_log(const ParsedLog& log, const fs::path& path) {
  if (log.records > 0 || log.bytes == 0) return;
  const auto why = std::ranges::find(log.findings, audit_rule(Rule::kNoRecords).id, &Finding::rule);
  throw base::DataError(path.string() + ": " + (why == log.findings.end() ? "" : why->text));
}

}  // namespace

ReadRun read_past_run(const fs::path& log, const std::string& name) {
  const ParsedLog parsed = parse_log(log);
  require_log(parsed, log);
  const RunFacts facts = facts_of(parsed);
  ReadRun read;
  PastRun& run = read.run;
  run.log = name;
  run.workload = facts.config_text(keys::kSubmissionBenchmark);
  run.system = system_of(log);
  run.outcome = to_string(facts.outcome);
  run.resumed = facts.resumed;
  run.started_ms = facts.run_start_ms ? std::llround(*facts.run_start_ms) : 0;
  run.ttt_s = facts.ttt_s;
  run.epochs = facts.progress.epochs_run;
  run.train_throughput = facts.train_throughput;
  run.best_quality = facts.best_quality;
  std::vector<Finding> findings;
  if (const auto telemetry = read_telemetry_of(log, findings)) {
    run.revision = revision_of(*telemetry);
    run.settings["ranks"] = std::to_string(telemetry->ranks);
  }
  const auto settings = read_settings_of(log);
  run.settings.insert(settings.begin(), settings.end());
  if (settings.empty()) run.settings.merge(logged_settings(facts));
  if (!findings.empty()) read.problem = findings.front().text;
  return read;
}

std::string stamp_of(const fs::path& log) {
  std::string stamp;
  for (const fs::path& path : {log, fs::path(log).replace_extension(".telemetry.json"),
                               fs::path(log).replace_extension(".config.json")}) {
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    if (failed) continue;
    const auto time = fs::last_write_time(path, failed).time_since_epoch().count();
    stamp += fmt::format("{}:{}:{};", path.extension().string(), size, time);
  }
  return stamp;
}

std::string short_revision(const std::string& revision) {
  constexpr std::size_t kShown = 12;
  const bool dirty = revision.ends_with("-dirty");
  return revision.substr(0, kShown) + (dirty ? "-dirty" : "");
}

bool is_comparable(const std::string& setting) {
  if (setting == "seed") return false;
  constexpr std::array kElsewhere = {"results.",          "submission.",  "checkpoint.",
                                     "staging.directory", "clear_caches", "hang_timeout_s",
                                     "lost_timeout_s"};
  return std::none_of(kElsewhere.begin(), kElsewhere.end(),
                      [&](const char* start) { return setting.starts_with(start); });
}

}  // namespace analysis::history

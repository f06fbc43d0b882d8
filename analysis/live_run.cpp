// A run in progress, as seen from other processes.
#include "analysis/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "analysis/breakdown.h"
#include "analysis/facts_of_log.h"
#include "analysis/find_logs.h"
#include "analysis/log_file.h"
#include "analysis/side_files.h"
#include "analysis/systems.h"
#include "runner/base/error.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"
#include "runner/telemetry/live_status.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using telemetry::LiveStatus;

/// A log without an end that was not written to for a day was left by a run that died.
constexpr double kForgottenS = 86400.0;

double written_s(const fs::path& path) {
  std::error_code failed;
  const auto time = fs::last_write_time(path, failed);
  if (failed) return 0.0;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

using Found = LiveRuns::Seen;

/// When a log was last written to, in seconds since 1970: the time of its last record, as a copied
/// file is newer than its content; the file's time if no run began in it.
double sign_of(const Found& found) {
  const RunFacts& facts = found.facts;
  if (!facts.run_start_ms || !facts.window_s) return found.written_s;
  return *facts.run_start_ms / base::kMsPerSecond + *facts.window_s;
}

/// Whether a run set has moved this log away and begun the run anew.
bool is_cut_off(const fs::path& log) {
  return full_path(log).parent_path().filename() == "cut_off";
}

bool has_ended(const RunFacts& facts) { return facts.run_stop_ms.has_value(); }

/// Successful runs in the same folder with the same benchmark, batch size and target.
std::vector<EarlierRun> earlier_runs(const Found& run, const std::vector<const Found*>& all) {
  std::vector<EarlierRun> earlier;
  const auto same = [&](const char* key, const RunFacts& other) {
    return run.facts.config_value(key) == other.config_value(key);
  };
  for (const Found* other : all) {
    const RunFacts& facts = other->facts;
    if (other->log.parent_path() != run.log.parent_path() || !succeeded(facts)) continue;
    if (!same(mllog::keys::kSubmissionBenchmark, facts) ||
        !same(mllog::keys::kGlobalBatchSize, facts) ||
        facts.target_value() != run.facts.target_value() || !facts.progress.epochs_to_target) {
      continue;
    }
    earlier.push_back({*facts.progress.epochs_to_target, *facts.ttt_s});
  }
  return earlier;
}

std::optional<LiveStatus> told_by(const fs::path& log, std::string& problem) {
  const std::string path = telemetry::live_path(log.string());
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  const auto text = read_side_text(path, problem);
  if (!text) return std::nullopt;
  try {
    return telemetry::parse_live_status(*text, path);
  } catch (const base::Error& error) {
    problem = error.what();
    return std::nullopt;
  }
}

void take(const LiveStatus& status, double now_s, LiveRun& run) {
  run.workload = status.workload;
  run.host = status.host;
  run.process = status.process.number;
  run.life = base::life_from_here(status.process);
  run.ranks = status.ranks;
  run.phase = status.phase;
  run.phase_s = now_s - static_cast<double>(status.phase_since_ms) / base::kMsPerSecond;
  if (status.steps_total > 0 && status.epochs > 0) {
    run.epochs = static_cast<double>(status.epochs);
    run.steps_done = static_cast<double>(status.steps_done);
    run.steps_total = static_cast<double>(status.steps_total);
    const double epochs_per_step = *run.epochs / *run.steps_total;
    run.standing.epochs_done = *run.steps_done * epochs_per_step;
    run.standing.epochs_before = static_cast<double>(status.steps_before) * epochs_per_step;
    run.samples_per_s = status.samples_per_s;
    run.mean_loss = status.mean_loss;
  }
  run.parts.clear();
  for (std::size_t i = 0; i < status.subsystems_s.size(); ++i) {
    run.parts.emplace_back(telemetry::to_string(static_cast<telemetry::Subsystem>(i)),
                           status.subsystems_s[i]);
  }
}

LiveState state_of(const LiveRun& run) {
  if (has_ended(run.facts)) return LiveState::kEnded;
  if (run.life == base::Life::kDead) return LiveState::kGone;
  const double limit_s = run.process > 0 ? kSilentS : kSilentLogS;
  return run.sign_of_life_s.value_or(0.0) > limit_s ? LiveState::kSilent : LiveState::kRunning;
}

LiveRun look_at(const Found& found, const std::vector<const Found*>& all,
                const base::Clock& clock) {
  const double now_s = static_cast<double>(clock.unix_ms()) / base::kMsPerSecond;
  LiveRun run;
  run.log = found.log;
  run.facts = found.facts;
  run.workload = found.facts.config_text(mllog::keys::kSubmissionBenchmark);
  double sign_s = sign_of(found);
  if (const auto parts = log_breakdown(found.facts)) {
    for (const Part& part : parts->parts) run.parts.emplace_back(part.name, part.mean_s);
  }
  if (!found.facts.resumed) {
    run.standing.epochs_done = found.facts.progress.epochs_run.value_or(0.0);
  }
  if (const auto status = told_by(found.log, run.problem)) {
    take(*status, now_s, run);
    sign_s = std::max(sign_s, static_cast<double>(status->alive_ms) / base::kMsPerSecond);
  }
  run.sign_of_life_s = std::max(0.0, now_s - sign_s);
  run.state = state_of(run);
  if (!found.facts.run_start_ms) return run;
  const double end_s = run.state == LiveState::kEnded
                           ? *found.facts.run_stop_ms / base::kMsPerSecond
                       : run.state == LiveState::kRunning ? now_s
                                                          : sign_s;
  run.standing.elapsed_s = std::max(0.0, end_s - *found.facts.run_start_ms / base::kMsPerSecond);
  run.standing.staging_s = found.facts.parts.staging_alone_s();
  // No outlook for a run that is silent, gone or ended, or has met its target.
  if (run.state != LiveState::kRunning || run.facts.at_target) return run;
  run.outlook = outlook_of(found.facts, run.standing, earlier_runs(found, all));
  const Standing& at = run.standing;
  const auto pace = at.pace_s();
  if (run.epochs && pace) run.limit_s = at.elapsed_s + (*run.epochs - at.epochs_done) * *pace;
  return run;
}

}  // namespace

const char* to_string(LiveState state) {
  switch (state) {
    case LiveState::kRunning:
      return "running";
    case LiveState::kSilent:
      return "silent";
    case LiveState::kGone:
      return "gone";
    case LiveState::kEnded:
      return "ended";
  }
  return "";
}

std::vector<LiveRun> LiveRuns::look(const base::Clock& clock) {
  const FoundLogs logs = find_logs(paths_);
  std::map<fs::path, Seen> seen;
  problems_.clear();
  for (const FoundLog& log : logs.logs) {
    std::error_code failed;
    const auto bytes = fs::file_size(log.path, failed);
    const double written = written_s(log.path);
    const auto before = seen_.find(log.path);
    const bool is_same = before != seen_.end() && !failed && before->second.bytes == bytes &&
                         before->second.written_s == written;
    if (is_same) {
      seen[log.path] = std::move(before->second);
      continue;
    }
    try {  // the log may be gone by now, or not be readable
      Seen one = {log.path, facts_of(parse_log(log.path)), written, bytes};
      if (one.facts.records == 0 && bytes > 0) {
        throw base::DataError(log.path.string() + ": expected lines with ':::MLLOG ', found none");
      }
      seen[log.path] = std::move(one);
    } catch (const base::Error& error) {
      problems_.emplace_back(error.what());
    }
  }
  seen_ = std::move(seen);
  if (seen_.empty()) {
    const std::string reason =
        !problems_.empty()       ? problems_.front()
        : !logs.problems.empty() ? logs.problems.front().path + ": " + logs.problems.front().reason
                                 : "no log was found";
    throw base::DataError(reason);
  }
  std::vector<const Found*> all, chosen;
  const double now_s = static_cast<double>(clock.unix_ms()) / base::kMsPerSecond;
  for (const auto& [path, one] : seen_) {
    all.push_back(&one);
    const double sign_s = std::max(sign_of(one), written_s(telemetry::live_path(one.log.string())));
    if (!has_ended(one.facts) && !is_cut_off(one.log) && now_s - sign_s < kForgottenS)
      chosen.push_back(&one);
  }
  if (chosen.empty()) {
    chosen.push_back(*std::max_element(all.begin(), all.end(), [](const auto* a, const auto* b) {
      return a->written_s < b->written_s;
    }));
  }
  std::vector<LiveRun> runs;
  for (const Found* one : chosen) runs.push_back(look_at(*one, all, clock));
  return runs;
}

const std::vector<std::pair<std::string, std::string>>& live_definitions() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"state",
       "running; silent: no sign of life for 15 s (60 s without a live file), though its "
       "process may still exist; gone: its process has ended, seen from its own host and "
       "container; ended: its log "
       "has run_stop"},
      {"sign_of_life_s",
       "seconds since the last record of the log, or since the last update of its live file"},
      {"elapsed_s", "seconds since run_start; of a run that ended, until run_stop"},
      {"epochs_done",
       "epochs trained so far, with the fraction of the current one if the run has a live file"},
      {"samples_per_s", "of all ranks, over the last steps"},
      {"parts",
       "seconds so far: rank 0's subsystems if the run has a live file, else the parts of its log"},
      {"outlook",
       "seconds from run_start to the target: epochs of earlier runs of the same folder, "
       "benchmark, batch size and target at this run's pace (their times before the first epoch), "
       "with the "
       "95 % prediction interval of a normal distribution; if there are none, or this run took "
       "longer, the time at which a straight line through its last evaluations (3 to 8) meets the "
       "target, with "
       "the 95 % interval of its slope. No high if the interval has no end"},
      {"limit_s",
       "seconds from run_start until all epochs of the configuration are trained, by this run's "
       "pace"},
  };
  return all;
}

}  // namespace analysis

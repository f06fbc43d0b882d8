// A run in progress, as seen from other processes: its log so far and its live file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts.h"
#include "analysis/outlook.h"
#include "runner/base/clock.h"
#include "runner/base/process_state.h"

namespace analysis {

enum class LiveState {
  kRunning,
  kSilent,  ///< no sign of life for kSilentS, or kSilentLogS without a live file
  kGone,    ///< its process has ended, as seen from its own host and container
  kEnded    ///< the log has run_stop
};
const char* to_string(LiveState state);
/// A run updates its live file every two seconds; file systems and clocks of other hosts may lag.
inline constexpr double kSilentS = 15.0, kSilentLogS = 60.0;

/// live_definitions() has the definitions of all figures.
struct LiveRun {
  std::filesystem::path log;
  RunFacts facts;  ///< of the log so far
  LiveState state = LiveState::kRunning;
  std::optional<double> sign_of_life_s;  ///< seconds since the last one
  std::string workload, host, phase;     ///< "" if unknown
  std::optional<double> phase_s;         ///< seconds since the phase began
  std::int64_t process = 0, ranks = 0;   ///< 0 if unknown
  base::Life life = base::Life::kUnknown;
  Standing standing;
  std::optional<double> epochs, steps_done, steps_total, samples_per_s, mean_loss;
  /// Seconds of rank 0's subsystems, or of the log's parts without a live file.
  std::vector<std::pair<std::string, double>> parts;
  std::optional<Outlook> outlook;
  /// Seconds from run_start until all epochs of the configuration are trained, at this pace.
  std::optional<double> limit_s;
  std::string problem;  ///< why the live file could not be read; "" if it could
};

/// Polls runs; a log is read again only if its size or time changed.
class LiveRuns {
 public:
  /// `paths`: logs, or folders that are searched at any depth.
  explicit LiveRuns(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// The runs that have not ended and gave a sign of life within a day; if there are none, the one
  /// whose log was written last. Throws DataError if no log can be read.
  std::vector<LiveRun> look(const base::Clock& clock);
  /// Logs that could not be read in the last look(), and why.
  const std::vector<std::string>& problems() const { return problems_; }

  struct Seen {
    std::filesystem::path log;
    RunFacts facts;
    double written_s = 0.0;  ///< since 1970
    std::uintmax_t bytes = 0;
  };

 private:
  std::vector<std::string> paths_, problems_;
  std::map<std::filesystem::path, Seen> seen_;
};

const std::vector<std::pair<std::string, std::string>>& live_definitions();

}  // namespace analysis

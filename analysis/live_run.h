// A run that goes on, as other shells see it: its log so far and what it tells of itself.
// Hides files and how a run that died is told from one that is silent.
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

namespace analysis {

enum class LiveState {
  kRunning,
  kSilent,  ///< no sign of life for kSilentS, or kSilentLogS where it only writes a log
  kGone,    ///< its process is not on this host any more
  kEnded    ///< the log has run_stop
};
const char* to_string(LiveState state);
/// A run tells of itself every two seconds; file systems and clocks of other hosts may be late.
inline constexpr double kSilentS = 15.0, kSilentLogS = 60.0;

/// Definitions of all figures stand in live_definitions().
struct LiveRun {
  std::filesystem::path log;
  RunFacts facts;  ///< of the log so far
  LiveState state = LiveState::kRunning;
  std::optional<double> sign_of_life_s;  ///< seconds since the last one
  std::string workload, host, phase;     ///< "" where the run does not tell
  std::optional<double> phase_s;         ///< how long the phase lasts
  std::int64_t process = 0, ranks = 0;   ///< 0 where the run does not tell
  Standing standing;
  std::optional<double> epochs, steps_done, steps_total, samples_per_s, mean_loss;
  /// Seconds of rank 0's subsystems, or of the log's parts.
  std::vector<std::pair<std::string, double>> parts;
  std::optional<Outlook> outlook;
  /// Where neither earlier runs nor the curve tell: when the epoch limit is reached, by the pace.
  std::optional<double> limit_s;
  std::string problem;  ///< why what the run tells could not be read; "" where it could
};

/// Looks at runs again and again; a log is read again when it changed.
class LiveRuns {
 public:
  /// Logs, or folders that are searched at any depth.
  explicit LiveRuns(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// The runs that have not ended and gave a sign of life within a day; where there is none, the
  /// one whose log was written last. Throws DataError where no log can be read.
  std::vector<LiveRun> look(const base::Clock& clock);
  /// Logs that could not be read at the last look, and why.
  const std::vector<std::string>& problems() const { return problems_; }

  struct Seen {
    std::filesystem::path log;
    RunFacts facts;
    double written_s = 0.0;  ///< of the calendar
    std::uintmax_t bytes = 0;
  };

 private:
  std::vector<std::string> paths_, problems_;
  std::map<std::filesystem::path, Seen> seen_;
};

const std::vector<std::pair<std::string, std::string>>& live_definitions();

}  // namespace analysis

// What a run that goes on tells of itself (result_<n>.live.json), for `trainmark status`.
// Hides the file's layout, and the thread that writes it, so that no training waits for a file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runner/base/clock.h"
#include "runner/telemetry/telemetry.h"

namespace telemetry {

/// Times are milliseconds of the calendar. Seconds are rank 0's.
struct LiveStatus {
  std::string workload, host, phase;
  std::int64_t process = 0, ranks = 1;
  /// When the rest was told, when its thread last gave a sign of life, when the phase began.
  std::int64_t updated_ms = 0, alive_ms = 0, phase_since_ms = 0;
  std::int64_t epoch_num = 0, epochs = 0;        ///< the epoch under way, and the limit
  std::int64_t steps_done = 0, steps_total = 0;  ///< of the whole run, up to the limit
  std::int64_t steps_before = 0;                 ///< of a resumed run: done before this part
  double samples_per_s = 0.0, mean_loss = 0.0;   ///< of the last steps; 0 before any
  double wall_s = 0.0;
  std::array<double, kSubsystemCount> subsystems_s{};
};

/// Throws DataError naming `name`, place, what was expected and what was found.
LiveStatus parse_live_status(const std::string& text, const std::string& name);
/// result_<n>.live.json beside result_<n>.txt.
std::string live_path(const std::string& log_path);

/// Writes what was told last, with a sign of life, every `period_s`, a new phase sooner, each time
/// as a whole file; removes it at the end. A file that cannot be written ends the writing, not the
/// run.
class LiveStatusFile {
 public:
  static constexpr double kPeriodS = 2.0;
  /// `clock` outlives this, and answers to several threads.
  LiveStatusFile(std::string path, const base::Clock& clock, double period_s = kPeriodS);
  ~LiveStatusFile();
  LiveStatusFile(const LiveStatusFile&) = delete;
  LiveStatusFile& operator=(const LiveStatusFile&) = delete;

  /// From one thread.
  void tell(const LiveStatus& status);
  /// Why it could not be written; "" where it could.
  std::string problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace telemetry

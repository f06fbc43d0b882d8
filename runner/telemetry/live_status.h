// The status of a run in progress (result_<n>.live.json), for `trainmark status`. A thread writes
// it, so that training never waits for the file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runner/base/clock.h"
#include "runner/base/process_state.h"
#include "runner/telemetry/telemetry.h"

namespace telemetry {

/// Times are calendar milliseconds. Durations in seconds are rank 0's.
struct LiveStatus {
  std::string workload, host, phase;
  base::ProcessIdentity process;
  std::int64_t ranks = 1;
  /// The last update, the writing thread's last sign of life, and the start of the phase.
  std::int64_t updated_ms = 0, alive_ms = 0, phase_since_ms = 0;
  std::int64_t epoch_num = 0, epochs = 0;        ///< the current epoch, and the limit
  std::int64_t steps_done = 0, steps_total = 0;  ///< in the whole run; the total is the limit
  std::int64_t steps_before = 0;                 ///< in a resumed run: steps done before this part
  double samples_per_s = 0.0, mean_loss = 0.0;   ///< over the last steps; 0 before the first
  double wall_s = 0.0;
  std::array<double, kSubsystemCount> subsystems_s{};
};

/// Throws DataError naming `name`, the place, what was expected and what was found.
LiveStatus parse_live_status(const std::string& text, const std::string& name);
/// result_<n>.live.json next to result_<n>.txt.
std::string live_path(const std::string& log_path);

/// Writes the last status and a sign of life every `period_s`, sooner after a new phase, replacing
/// the whole file each time. Removes the file at the end. If the file cannot be written, writing
/// stops and the run goes on.
class LiveStatusFile {
 public:
  static constexpr double kPeriodS = 2.0;
  /// `clock` outlives this object and must be thread-safe.
  LiveStatusFile(std::string path, const base::Clock& clock, double period_s = kPeriodS);
  ~LiveStatusFile();
  LiveStatusFile(const LiveStatusFile&) = delete;
  LiveStatusFile& operator=(const LiveStatusFile&) = delete;

  /// Sets the status. Call it from one thread only.
  void publish(const LiveStatus& status);
  /// The write error, or "".
  std::string problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace telemetry

// Messages and progress of a run on stderr, printed by rank 0 only and rate-limited.
#pragma once

#include <spdlog/fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "runner/base/clock.h"

namespace runner {

/// Progress of the training.
struct ProgressPoint {
  std::int64_t epoch_num = 0, epochs = 0;
  std::int64_t steps_done = 0, steps_total = 0;  ///< in the whole run; the total assumes the epoch
                                                 ///< limit
  double samples_per_s = 0.0;
  double mean_loss = 0.0;
};

/// "1 h 02 min", "3 min 05 s", "12 s".
std::string duration_text(double seconds);

class Console {
 public:
  enum class Style {
    kSilent,   ///< every rank but 0
    kLines,    ///< no terminal: whole lines, progress at most every 30 s
    kTerminal  ///< one short line, overwritten in place
  };
  Console(std::ostream& out, Style style, const base::Clock& clock);
  ~Console();
  /// kSilent unless rank is 0; else depends on whether stderr is a terminal.
  static Style style_of_stderr(int rank);

  /// Text that is shown as one line; names in it may come from outside.
  void info(const std::string& text);
  void warn(const std::string& text);
  /// Starts measuring rate and ETA, `steps_done` steps into a (resumed) run.
  void begin_progress(std::int64_t steps_done = 0);
  /// Shows `point` unless the last one was shown too recently.
  void progress(const ProgressPoint& point);

 private:
  void clear_line();
  std::ostream& out_;
  Style style_;
  const base::Clock& clock_;
  std::shared_ptr<spdlog::logger> logger_;
  std::int64_t began_ns_ = 0, began_steps_ = 0;
  std::optional<std::int64_t> shown_ns_;
  bool line_open_ = false;
};

}  // namespace runner

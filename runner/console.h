// What people see while a run goes on: messages and progress, on stderr, from rank 0 alone.
// Hides spdlog, the terminal, and how often a line may come.
#pragma once

#include <spdlog/fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "runner/base/clock.h"

namespace runner {

/// Where training stands.
struct ProgressPoint {
  std::int64_t epoch_num = 0, epochs = 0;
  std::int64_t steps_done = 0, steps_total = 0;  ///< of the whole run, up to the epoch limit
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
    kTerminal  ///< one short line that is overwritten
  };
  Console(std::ostream& out, Style style, const base::Clock& clock);
  ~Console();
  /// kSilent unless rank is 0, then by what stderr is.
  static Style style_of_stderr(int rank);

  void info(const std::string& text);
  void warn(const std::string& text);
  /// Starts the clock of rate and ETA, `steps_done` steps into a (resumed) run.
  void begin_progress(std::int64_t steps_done = 0);
  /// Shows `point` if it is time for it.
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

// A small training job of the real program on two ranks, and what its own account says of it.
// Hides the generated images, the launcher's command line, and the preloaded delays.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/findings/report.h"
#include "launch.h"
#include "runner/base/temporary_directory.h"
#include "runner/telemetry/report_file.h"

namespace delays {

/// What a run left.
struct Ended {
  int status = -1;
  std::string err;
  telemetry::Report telemetry;  ///< no ranks where the run left none
  analysis::RunReport run;
  std::string text;  ///< of `trainmark analyze`

  double seconds(int rank, telemetry::Subsystem subsystem) const;
  double within_s(int rank, telemetry::Subsystem outer, telemetry::Subsystem inner) const;
  /// All that this rank did in training but exchange.
  double work_s(int rank) const;
  /// Seconds of delay that cannot be mistaken for this run's own time, however busy the machine:
  /// three times its training, and some seconds.
  double large_delay_s() const;
  /// What two runs like this one may differ by for no reason.
  double noise_s() const;
  std::int64_t count(int rank, telemetry::Counter counter) const;
  /// The straggler of this phase; null where nobody was waited for in it.
  const analysis::Straggler* straggler_in(const std::string& phase) const;
};

/// Two ranks, 120 images to train on and 40 to evaluate with, read from the file system.
class Job {
 public:
  Job();
  /// Changes the configuration: "/training/global_batch_size" and a value.
  void set(const std::string& pointer, const nlohmann::json& value);
  /// Variables of the environment for both ranks; with any, the delays are preloaded.
  void delay(const std::string& variable, const std::string& value);
  /// Puts this command before mpirun's, and these options behind it.
  void launch_by(const std::string& before, const std::string& options);
  Ended run();
  /// Seconds that the delays say to have taken, by their words.
  std::map<std::string, double> injected() const;
  const std::filesystem::path& folder() const { return directory_.path(); }
  std::filesystem::path log_path() const;

 private:
  std::string command() const;
  Ended collect(outside::Ended job) const;
  const base::TemporaryDirectory directory_;
  std::string config_;  ///< JSON text
  std::map<std::string, std::string> environment_;
  std::string before_, options_;
};

/// Measures anew, three times at most, until nothing fails; only the last one's failures count.
/// Others that use the CPUs may spoil one measurement, a fault of the program spoils each.
void expect_in_one_of_three(const std::function<void()>& measure);

}  // namespace delays

// A small training job of the real program on two ranks, and its own account of the time.
#pragma once

#include <gmock/gmock.h>

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

/// The exit status of a job that trained to its end: the target is not expected to be reached, but
/// may be.
inline const auto kTrained = testing::AnyOf(0, 6);

/// The results of a run.
struct Ended {
  int status = -1;
  std::string err;
  telemetry::Report telemetry;  ///< without ranks if the run left no telemetry file
  analysis::RunReport run;
  std::string text;  ///< output of `trainmark analyze`

  double seconds(int rank, telemetry::Subsystem subsystem) const;
  double within_s(int rank, telemetry::Subsystem outer, telemetry::Subsystem inner) const;
  /// Seconds of this rank's work in training, without exchange.
  double work_s(int rank) const;
  /// Seconds of delay that cannot be mistaken for this run's own time on a busy machine: three
  /// times its training time, plus some seconds.
  double large_delay_s() const;
  /// Seconds by which two runs like this one may differ at random.
  double noise_s() const;
  std::int64_t count(int rank, telemetry::Counter counter) const;
  /// The straggler of this phase; null if no rank was waited for.
  const analysis::Straggler* straggler_in(const std::string& phase) const;
};

/// Two ranks, 120 images to train on and 40 to evaluate with, read from the file system.
class Job {
 public:
  Job();
  /// Sets a value of the configuration: "/training/global_batch_size".
  void set(const std::string& pointer, const nlohmann::json& value);
  /// Sets an environment variable on both ranks; any variable also preloads the delays.
  void delay(const std::string& variable, const std::string& value);
  /// Puts `before` in front of the mpirun command, and `options` after it.
  void launch_by(const std::string& before, const std::string& options);
  Ended run();
  /// Seconds of injected delay, by the word that selects it.
  std::map<std::string, double> injected() const;
  const std::filesystem::path& folder() const { return directory_.path(); }
  std::filesystem::path log_path() const;
  std::filesystem::path weights_path() const;

 private:
  std::string command() const;
  Ended collect(outside::Ended job) const;
  const base::TemporaryDirectory directory_;
  std::string config_;  ///< JSON text
  std::map<std::string, std::string> environment_;
  std::string before_, options_;
};

/// Repeats a measurement up to three times until nothing fails; only the last attempt's failures
/// count. Other users of the CPUs may disturb one measurement; a bug affects all of them.
void expect_in_one_of_three(const std::function<void()>& measure);

}  // namespace delays

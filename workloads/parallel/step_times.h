// Times of a bench's steps, and what else every bench tells.
// Hides warm-up's end and medians.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "runner/workload.h"

namespace parallel {

class StepTimes {
 public:
  /// `around` outlives this. From now on the process counts as started.
  explicit StepTimes(const runner::Surroundings& around);
  /// Collective. What is timed begins.
  void begin();
  /// Collective. One step, which is over when the slowest rank's is.
  void time(const std::function<void()>& step);
  double median_s() const;
  /// Adds ranks, threads, step_s, breakdown_s_per_step, start_s, peak_rss_bytes and their
  /// definitions.
  void add_to(nlohmann::json& result) const;

 private:
  const runner::Surroundings& around_;
  double start_s_;
  std::vector<double> seconds_;
  std::array<double, telemetry::kSubsystemCount> parts_s_{};  ///< of all steps, this rank's
  std::int64_t peak_rss_bytes_ = 0;  ///< of a step, without what is measured beside it
};

}  // namespace parallel

// Times of a bench's steps, and the run facts that every bench reports.
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
  /// `around` outlives this. Takes start_s, the age of the process.
  explicit StepTimes(const runner::Surroundings& around);
  /// Collective. Call after warm-up: restarts the telemetry.
  void begin();
  /// Collective. Times one step: the time of the slowest rank.
  void time(const std::function<void()>& step);
  double median_s() const;
  /// Adds ranks, threads_per_rank, step_s, breakdown_s_per_step, start_s, peak_rss_bytes and
  /// definitions.
  void add_to(nlohmann::json& result) const;

 private:
  const runner::Surroundings& around_;
  double start_s_;
  std::vector<double> seconds_;
  std::array<double, telemetry::kSubsystemCount> parts_s_{};  ///< by subsystem, over all steps
  std::int64_t peak_rss_bytes_ = 0;  ///< after the first step: excludes later measurements
};

}  // namespace parallel

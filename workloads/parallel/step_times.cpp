// Times of steps.
#include "workloads/parallel/step_times.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/base/median.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"

namespace parallel {
namespace {

std::vector<double> in_order(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

StepTimes::StepTimes(const runner::Surroundings& around)
    : around_(around), start_s_(base::process_age_s()) {}

void StepTimes::begin() {
  around_.world.barrier();
  around_.telemetry.restart();
}

void StepTimes::time(const std::function<void()>& step) {
  const auto add_parts = [this](double sign) {
    for (int part = 0; part < telemetry::kSubsystemCount; ++part) {
      parts_s_[static_cast<std::size_t>(part)] +=
          sign * around_.telemetry.seconds(static_cast<telemetry::Subsystem>(part));
    }
  };
  add_parts(-1.0);
  around_.telemetry.begin_step();
  step();
  const std::int64_t took = around_.telemetry.end_step();
  add_parts(1.0);
  seconds_.push_back(static_cast<double>(around_.world.allreduce_max(took)) / base::kNsPerSecond);
  if (seconds_.size() == 1) peak_rss_bytes_ = base::peak_rss_bytes();
}

double StepTimes::median_s() const { return base::median_of(seconds_); }

void StepTimes::add_to(nlohmann::json& result) const {
  const std::vector<double> sorted = in_order(seconds_);
  const auto count = static_cast<double>(sorted.size());
  result["ranks"] = around_.world.size();
  result["threads_per_rank"] = around_.threads;
  result["step_s"] = {{"min", sorted.front()},
                      {"median", median_s()},
                      {"mean", std::accumulate(sorted.begin(), sorted.end(), 0.0) / count},
                      {"max", sorted.back()},
                      {"times", seconds_}};
  for (std::size_t part = 0; part < parts_s_.size(); ++part) {
    const char* const name = telemetry::to_string(static_cast<telemetry::Subsystem>(part));
    result["breakdown_s_per_step"][name] = parts_s_[part] / count;
  }
  result["start_s"] = start_s_;
  result["peak_rss_bytes"] = peak_rss_bytes_;
  result["definitions"].update(nlohmann::json{
      {"step_s",
       "wall time of a training step on its slowest rank: forward, backward, exchange, update"},
      {"breakdown_s_per_step",
       "rank 0's exclusive time by subsystem within the steps, mean: together its mean step time"},
      {"start_s",
       "from the start of rank 0's process to its first step: loading, start of MPI, planning, "
       "first weights, random samples"},
      {"peak_rss_bytes",
       "largest resident set of rank 0 (VmHWM) after the first timed step, with what it shares "
       "with other ranks"}});
}

}  // namespace parallel

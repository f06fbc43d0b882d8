// Learning rate formulas.
// Hides where each shape begins and ends.
#include "workloads/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nn {
namespace {

double cosine_down(double from, double to, double share) {
  return to + (from - to) * (1.0 + std::cos(std::numbers::pi * share)) / 2.0;
}

double one_cycle(const ScheduleConfig& c, double s) {
  const double last = static_cast<double>(c.decay_steps) - 1.0;
  const double peak = std::max(c.peak_at * static_cast<double>(c.decay_steps) - 1.0, 0.0);
  if (s < peak) {
    return c.start_learning_rate + (c.base_learning_rate - c.start_learning_rate) * s / peak;
  }
  if (s >= last) return c.end_learning_rate;
  const double share = (s - peak) / (last - peak);
  if (c.anneal == Anneal::kCosine) {
    return cosine_down(c.base_learning_rate, c.end_learning_rate, share);
  }
  return c.base_learning_rate + (c.end_learning_rate - c.base_learning_rate) * share;
}

/// Between warm-up and decay the rate stays at that of the last update of the warm-up, and after
/// the decay at that of its last update: neither is quite the one that the ramp aims at.
double delayed_polynomial(const ScheduleConfig& c, std::int64_t count) {
  const bool decays = c.decay_steps > 0;
  if (!decays || count < c.decay_start_step) {
    const bool rises = c.warmup_steps > 1 && (decays || count < c.warmup_steps);
    if (!rises) return c.base_learning_rate;
    const auto done = static_cast<double>(std::min(count, c.warmup_steps - 1));
    return c.base_learning_rate * done / static_cast<double>(c.warmup_steps);
  }
  const std::int64_t decayed = std::min(count - c.decay_start_step, c.decay_steps - 1);
  const double left =
      static_cast<double>(c.decay_steps - decayed) / static_cast<double>(c.decay_steps);
  return std::max(c.end_learning_rate, c.base_learning_rate * std::pow(left, c.power));
}

}  // namespace

double Schedule::learning_rate(std::int64_t updates_done) const {
  const ScheduleConfig& c = config_;
  const auto s = static_cast<double>(updates_done);
  if (c.shape == ScheduleShape::kDelayedPolynomial) return delayed_polynomial(c, updates_done + 1);
  if (c.shape == ScheduleShape::kOneCycle) return one_cycle(c, s);
  if (c.warmup_steps > 0 && updates_done <= c.warmup_steps) {
    return c.warmup_start_learning_rate + (c.base_learning_rate - c.warmup_start_learning_rate) *
                                              s / static_cast<double>(c.warmup_steps);
  }
  const double share =
      std::min((s - static_cast<double>(c.warmup_steps)) / static_cast<double>(c.decay_steps), 1.0);
  switch (c.shape) {
    case ScheduleShape::kPolynomial:
      return (c.base_learning_rate - c.end_learning_rate) * std::pow(1.0 - share, c.power) +
             c.end_learning_rate;
    case ScheduleShape::kCosine:
      return cosine_down(c.base_learning_rate, c.end_learning_rate, share);
    case ScheduleShape::kStep: {
      const auto passed = std::upper_bound(c.milestones.begin(), c.milestones.end(), updates_done) -
                          c.milestones.begin();
      return c.base_learning_rate * std::pow(c.factor, static_cast<double>(passed));
    }
    default:
      return c.base_learning_rate;
  }
}

}  // namespace nn

// Reading and applying of the schedule.
// Hides nothing more.
#include "workloads/deepcam/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "runner/base/error.h"

namespace deepcam {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;

const std::vector<std::pair<std::string, SchedulerType>>& all_types() {
  static const std::vector<std::pair<std::string, SchedulerType>> types = {
      {"multistep", SchedulerType::kMultistep},
      {"cosine_annealing", SchedulerType::kCosineAnnealing}};
  return types;
}

void parse_milestones(const base::ObjectReader& in, ScheduleConfig& schedule) {
  schedule.milestones = in.optional<std::vector<std::int64_t>>(
      "milestones", {}, "updates behind warm-up after which the rate falls");
  for (std::size_t i = 0; i < schedule.milestones.size(); ++i) {
    const std::int64_t before = i == 0 ? 0 : schedule.milestones[i - 1];
    if (schedule.milestones[i] > before && schedule.milestones[i] <= kMostSteps) continue;
    throw base::ConfigError(fmt::format("{}: must rise from above 0, got {}",
                                        in.where("milestones"), schedule.milestones[i]));
  }
  schedule.decay_rate = in.optional<double>("decay_rate", schedule.decay_rate,
                                            "factor at each milestone", base::between(0.0, 1.0));
}

}  // namespace

const char* to_string(SchedulerType type) {
  for (const auto& [name, value] : all_types()) {
    if (value == type) return name.c_str();
  }
  return "";
}

ScheduleConfig parse_schedule(const base::ObjectReader& in) {
  ScheduleConfig schedule;
  schedule.type = in.choice<SchedulerType>("type", schedule.type, all_types(), "shape of the rate");
  schedule.base = in.optional<double>("learning_rate", schedule.base, "rate that warm-up leads to",
                                      base::positive());
  schedule.warmup_steps =
      in.optional<std::int64_t>("warmup_steps", 0, "updates", base::within(0, kMostSteps));
  schedule.warmup_factor = in.optional<double>(
      "warmup_factor", schedule.warmup_factor,
      "1: warm-up from 0 to learning_rate; more: from it to so many times as much",
      {"must be at least 1, at most 1e6",
       [](const double& factor) { return factor >= 1.0 && factor <= 1e6; }});
  if (schedule.type == SchedulerType::kMultistep) {
    parse_milestones(in, schedule);
    return schedule;
  }
  schedule.t_max = in.required<std::int64_t>("t_max", "updates behind warm-up until eta_min",
                                             base::within(1, kMostSteps));
  schedule.eta_min =
      in.optional<double>("eta_min", schedule.eta_min, "the least rate", base::not_negative());
  return schedule;
}

double ScheduleConfig::warm(double k) const {
  const double share = k / static_cast<double>(warmup_steps);
  return warmup_factor == 1.0 ? base * share : base * ((warmup_factor - 1.0) * share + 1.0);
}

double ScheduleConfig::learning_rate(std::int64_t updates_done) const {
  const std::int64_t k = updates_done + 1;
  if (k < warmup_steps) return warm(static_cast<double>(k));
  const double plateau = warmup_steps > 1 ? warm(static_cast<double>(warmup_steps - 1)) : base;
  if (type == SchedulerType::kMultistep) {
    const auto passed =
        std::count_if(milestones.begin(), milestones.end(),
                      [&](std::int64_t milestone) { return milestone + warmup_steps + 1 <= k; });
    return plateau * std::pow(decay_rate, static_cast<double>(passed));
  }
  const std::int64_t e = k - warmup_steps;
  const double high = e <= t_max ? plateau : base;
  const double angle = std::numbers::pi * static_cast<double>(e) / static_cast<double>(t_max);
  return eta_min + (high - eta_min) * (1.0 + std::cos(angle)) / 2.0;
}

}  // namespace deepcam

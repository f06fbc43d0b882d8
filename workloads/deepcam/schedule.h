// The learning rate of each update.
// Hides the keys of the section "schedule".
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/object_reader.h"

namespace deepcam {

enum class SchedulerType { kMultistep, kCosineAnnealing };
const char* to_string(SchedulerType type);

/// With update number k = 1, 2, ..., W of warm-up and its factor F:
///   k < W:  base k / W where F is 1, else base ((F - 1) k / W + 1)
///   k >= W: the plateau, which is the rate of the last update before (of k = W - 1: warm-up does
///           not quite end); base where there is no warm-up, or one step of it
///   multistep: plateau decay_rate^(milestones m with m + W + 1 <= k)
///   cosine_annealing, with e = k - W: eta_min + (plateau - eta_min) (1 + cos(pi e / t_max)) / 2;
///           behind t_max the rate rises again, with base in place of the plateau
/// Source: mlcommons/hpc, deepcam/src/deepCam/utils/schedulers.py.
struct ScheduleConfig {
  SchedulerType type = SchedulerType::kMultistep;
  double base = 0.001;
  std::int64_t warmup_steps = 0;
  double warmup_factor = 1.0;
  std::vector<std::int64_t> milestones;
  double decay_rate = 0.1;
  std::int64_t t_max = 1;
  double eta_min = 0.0;

  double learning_rate(std::int64_t updates_done) const;

 private:
  double warm(double k) const;
};

/// Throws ConfigError.
ScheduleConfig parse_schedule(const base::ObjectReader& in);

}  // namespace deepcam

// The learning rate of every update: warm-up, then one of six shapes.
// Hides the formulas and the conversion of epochs to steps.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/object_reader.h"

namespace nn {

enum class ScheduleShape { kConstant, kPolynomial, kDelayedPolynomial, kStep, kCosine, kOneCycle };
enum class Anneal { kLinear, kCosine };

/// A learning rate as a function of s, the number of updates already done. All rates are final:
/// batch scaling is already in them, and epochs are already steps.
struct ScheduleConfig {
  ScheduleShape shape = ScheduleShape::kConstant;
  double base_learning_rate = 0.0;  ///< reached after warm-up; the peak of one_cycle
  /// polynomial, cosine, one_cycle: held from the last step on; delayed_polynomial: the least
  double end_learning_rate = 0.0;
  std::int64_t warmup_steps = 0;  ///< linear from warmup_start_learning_rate; one_cycle has none
  double warmup_start_learning_rate = 0.0;
  std::int64_t decay_steps = 1;  ///< after warm-up or decay_start_step; one_cycle: of the whole
  double power = 2.0;            ///< polynomial, delayed_polynomial
  /// delayed_polynomial: where the decay begins, counting the first update as 1
  std::int64_t decay_start_step = 0;
  std::vector<std::int64_t> milestones;  ///< step: the first update that uses the next rate
  double factor = 0.1;                   ///< step: multiplies at each milestone
  double start_learning_rate = 0.0;      ///< one_cycle
  double peak_at = 0.3;                  ///< one_cycle: share of decay_steps that rises
  Anneal anneal = Anneal::kLinear;       ///< one_cycle: the way down
};

/// warm-up:    s <= W: start + (base - start) s / W
/// polynomial: (base - end) (1 - min(s - W, D) / D)^power + end
/// step:       base factor^(number of milestones <= s)
/// cosine:     end + (base - end) (1 + cos(pi min(s - W, D) / D)) / 2
/// one_cycle:  linear from start to base at peak_at D - 1, then down to end at D - 1
/// delayed_polynomial counts c = s + 1 and holds the last rate where it gives none:
///   c < W: base c / W;  S <= c < S + D: max(end, base ((D - (c - S)) / D)^power)
///   With D = 0, base from c = W on.
/// Source: mlcommons/training's TF2 ResNet (polynomial); facebookresearch/dlrm, branch mlperf,
/// LRPolicyScheduler (delayed_polynomial); Loshchilov & Hutter, arXiv:1608.03983
/// (cosine); Smith & Topin, arXiv:1708.07120, with PyTorch's positions (one_cycle).
class Schedule {
 public:
  explicit Schedule(ScheduleConfig config) : config_(std::move(config)) {}
  /// Of the update that follows `updates_done` updates.
  double learning_rate(std::int64_t updates_done) const;
  const ScheduleConfig& config() const { return config_; }

 private:
  ScheduleConfig config_;
};

/// Reads a "schedule" section: name, learning_rate, scaling (none | linear | sqrt, with
/// reference_batch), warm-up and the shape's own keys; `epochs` is the run's limit, the default
/// length of a decay. Polynomial decay takes D = epochs steps_per_epoch - W + 1, as the reference;
/// delayed_polynomial is given decay_steps and decay_start_step.
/// Throws ConfigError for values that contradict each other.
Schedule parse_schedule(const base::ObjectReader& section, std::int64_t global_batch,
                        std::int64_t steps_per_epoch, std::int64_t epochs);

}  // namespace nn

// The learning rate of every update: a warm-up, then a decay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/object_reader.h"

namespace nn {

/// The unit of positions, lengths and milestones of a schedule: updates done, or epochs done, in
/// which case rates change only between epochs.
enum class ScheduleUnit { kUpdates, kEpochs };

/// The rate during warm-up, with s positions done and a warm-up of length W. With kCounted and
/// kFactor the plateau after warm-up is the rate of its last position, slightly below the peak.
enum class Rise {
  kThrough,  ///< s <= W: from + (peak - from) s / W
  kBefore,   ///< s < W: the same
  kCounted,  ///< c = s + 1 < W: from + (peak - from) c / W
  kFactor    ///< c = s + 1 < W: peak c / W where the factor F is 1, else peak ((F - 1) c / W + 1)
};

struct Warmup {
  Rise rise = Rise::kThrough;
  std::int64_t length = 0;  ///< W; 0: none
  double from = 0.0;        ///< the first rate, also for one_cycle
  double factor = 1.0;      ///< kFactor
};

enum class DecayShape {
  kConstant,
  kPolynomial,
  kDelayedPolynomial,
  kStep,
  kCosine,
  kPeriodicCosine,
  kHyperbolicTangent,
  kOneCycle
};
enum class Anneal { kLinear, kCosine };

/// The rate after warm-up, with s positions done; B and D are the beginning and length of the
/// decay:
///   constant:    plateau
///   step:        plateau factor^(number of milestones with B + milestone <= s), or plateau times
///                the last such milestone's factor
/// The next three fall from the peak to E, the end rate or end_factor times the peak. With t =
/// min((s - B) / D, 1) the rate is E + (peak - E) f(t):
///   polynomial:  f = (1 - t)^power
///   cosine:      f = (1 + cos(pi t)) / 2
///   htd:         f = (1 - tanh(-6 + 9 t)) / 2
/// Others:
///   one_cycle:   linear from `from` to the peak at peak_at D - 1, then down to E at D - 1
///   delayed_polynomial counts c = s + 1: the plateau before c = B, then
///                max(E, peak ((D - (c - B)) / D)^power) up to c = B + D - 1, then that last rate.
///                With D = 0, always the peak after warm-up
///   periodic_cosine, with e = s + 1 - B: E + (plateau - E) (1 + cos(pi e / D)) / 2; after D the
///                rate rises again, with the peak in place of the plateau
/// Source: mlcommons/training's TF2 ResNet (polynomial); facebookresearch/dlrm, branch mlperf,
/// LRPolicyScheduler (delayed_polynomial); Loshchilov & Hutter, arXiv:1608.03983 (cosine); Smith &
/// Topin, arXiv:1708.07120, with PyTorch's positions (one_cycle); mlcommons/hpc,
/// cosmoflow/utils/optimizers.py and Hsueh et al., arXiv:1806.01593 (htd); mlcommons/hpc,
/// deepcam/src/deepCam/utils/schedulers.py (periodic_cosine).
struct Decay {
  DecayShape shape = DecayShape::kConstant;
  std::int64_t begin = 0;   ///< B
  std::int64_t length = 1;  ///< D
  double end = 0.0;         ///< E
  std::optional<double> end_factor;
  double power = 2.0;
  std::vector<std::int64_t> milestones;  ///< in rising order
  double factor = 0.1;                   ///< multiplies the rate at each milestone
  std::vector<double> factors;  ///< instead of `factor`: one per milestone, relative to the plateau
  double peak_at = 0.3;         ///< one_cycle: share of the length that the rise takes
  Anneal anneal = Anneal::kLinear;  ///< one_cycle: shape of the fall
};

/// A schedule in final units: rates include batch scaling, and epochs are converted to steps.
struct ScheduleConfig {
  ScheduleUnit unit = ScheduleUnit::kUpdates;
  double peak = 0.0;  ///< rate that warm-up leads to
  Warmup warmup;
  Decay decay;
};

class Schedule {
 public:
  explicit Schedule(ScheduleConfig config) : config_(std::move(config)) {}
  /// The rate of the update, or epoch, that follows `done` ones.
  double learning_rate(std::int64_t done) const;
  const ScheduleConfig& config() const { return config_; }

 private:
  double rising(std::int64_t position) const;
  double plateau() const;
  double remaining(double share) const;
  double decayed(double left) const;
  double stepped(std::int64_t done) const;
  double delayed_polynomial(std::int64_t count) const;
  double periodic_cosine(std::int64_t position) const;
  double one_cycle(double s) const;

  ScheduleConfig config_;
};

/// Reads a "schedule" section: name, learning_rate, scaling (none | linear | sqrt, with
/// reference_batch), warm-up and the keys of the shape. `epochs` is the run's limit and the default
/// length of a decay. Polynomial decay has D = epochs steps_per_epoch - W + 1, as in the reference;
/// delayed_polynomial has decay_steps and decay_start_step. Throws ConfigError for values that
/// contradict each other.
Schedule parse_schedule(const base::ObjectReader& section, std::int64_t global_batch,
                        std::int64_t steps_per_epoch, std::int64_t epochs);

/// How a rate grows with the global batch.
enum class BatchScaling { kNone, kLinear, kSqrt };
const std::vector<std::pair<std::string, BatchScaling>>& batch_scalings();
/// The factor for a rate that is meant for a batch of `reference`.
double batch_factor(BatchScaling scaling, std::int64_t batch, std::int64_t reference);

/// Returns the integers under `key`. Throws ConfigError unless they rise from above 0 and do not
/// exceed `most`.
std::vector<std::int64_t> parse_rising(const base::ObjectReader& in, const std::string& key,
                                       std::int64_t most, const std::string& help);

}  // namespace nn

// The learning rate of each epoch.
// Hides the keys of the section "schedule".
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/object_reader.h"

namespace cosmoflow {

enum class Decay { kStep, kPolynomial, kCosine, kHyperbolicTangent };
/// As the configuration has it.
const char* to_string(Decay decay);

/// Rates change between epochs alone. With e epochs done and W of warm-up:
///   e < W:  base + e (peak - base) / W, so that the first epoch has the base rate, not 0
///   step:   peak f, f being the factor of the largest boundary below e, 1 if there is none: a
///           boundary takes effect one epoch later than its number says
///   others, with t = min((e - W) / (decay_epochs - W), 1), down to peak end_factor:
///   polynomial: peak ((1 - end) (1 - t)^power + end)
///   cosine:     peak ((1 - end) (1 + cos(pi t)) / 2 + end)
///   htd:        peak ((1 - end) (1 - tanh(-6 + 9 t)) / 2 + end)
/// Source: mlcommons/hpc, cosmoflow/utils/optimizers.py; htd: Hsueh et al., arXiv:1806.01593.
struct ScheduleConfig {
  static constexpr std::int64_t kMostEpochs = 1'000'000;  ///< of a run, and of all of this
  double base = 0.001, peak = 0.001;
  std::int64_t warmup_epochs = 0;
  Decay decay = Decay::kStep;
  std::vector<std::int64_t> boundaries;  ///< kStep, rising
  std::vector<double> factors;           ///< kStep: of peak, not of each other
  std::int64_t decay_epochs = 0;         ///< others: where the decay ends
  double end_factor = 0.0, power = 1.0;

  double learning_rate(std::int64_t epochs_done) const;
};

/// `epochs`: the run's limit, where decays end by default. Throws ConfigError.
ScheduleConfig parse_schedule(const base::ObjectReader& in, std::int64_t global_batch,
                              std::int64_t epochs);

}  // namespace cosmoflow

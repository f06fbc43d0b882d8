// Formulas of the learning rate.
#include "workloads/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nn {
namespace {

/// Whether warm-up counts positions from 1 instead of 0.
bool counts(Rise rise) { return rise == Rise::kCounted || rise == Rise::kFactor; }

bool is_in_warmup(const Warmup& warmup, std::int64_t done) {
  if (counts(warmup.rise)) return done + 1 < warmup.length;
  return done < warmup.length ||
         (warmup.rise == Rise::kThrough && warmup.length > 0 && done == warmup.length);
}

double half_cosine(double angle) { return (1.0 + std::cos(angle)) / 2.0; }

}  // namespace

double Schedule::rising(std::int64_t position) const {
  const Warmup& warmup = config_.warmup;
  const auto at = static_cast<double>(position), length = static_cast<double>(warmup.length);
  if (warmup.rise != Rise::kFactor) {
    return warmup.from + (config_.peak - warmup.from) * at / length;
  }
  const double share = at / length;
  return warmup.factor == 1.0 ? config_.peak * share
                              : config_.peak * ((warmup.factor - 1.0) * share + 1.0);
}

double Schedule::plateau() const {
  const Warmup& warmup = config_.warmup;
  return counts(warmup.rise) && warmup.length > 1 ? rising(warmup.length - 1) : config_.peak;
}

/// The part of the decay that remains after `share` of its length: from 1 to 0.
double Schedule::remaining(double share) const {
  switch (config_.decay.shape) {
    case DecayShape::kPolynomial:
      return std::pow(1.0 - share, config_.decay.power);
    case DecayShape::kHyperbolicTangent:
      return (1.0 - std::tanh(-6.0 + 9.0 * share)) / 2.0;
    default:
      return half_cosine(std::numbers::pi * share);
  }
}

double Schedule::decayed(double left) const {
  const double peak = config_.peak, end = config_.decay.end;
  if (!config_.decay.end_factor) return (peak - end) * left + end;
  const double end_factor = *config_.decay.end_factor;
  return peak * ((1.0 - end_factor) * left + end_factor);
}

double Schedule::stepped(std::int64_t done) const {
  const Decay& decay = config_.decay;
  const auto next =
      std::upper_bound(decay.milestones.begin(), decay.milestones.end(), done - decay.begin);
  const std::int64_t passed = next - decay.milestones.begin();
  if (passed == 0 || decay.factors.empty()) {
    return plateau() * std::pow(decay.factor, static_cast<double>(passed));
  }
  return plateau() * decay.factors[static_cast<std::size_t>(passed - 1)];
}

double Schedule::delayed_polynomial(std::int64_t count) const {
  const Decay& decay = config_.decay;
  if (decay.length == 0) return config_.peak;
  if (count < decay.begin) return plateau();
  const std::int64_t passed = std::min(count - decay.begin, decay.length - 1);
  const double left =
      static_cast<double>(decay.length - passed) / static_cast<double>(decay.length);
  return std::max(decay.end, config_.peak * std::pow(left, decay.power));
}

double Schedule::periodic_cosine(std::int64_t position) const {
  const Decay& decay = config_.decay;
  const double high = position <= decay.length ? plateau() : config_.peak;
  const double angle =
      std::numbers::pi * static_cast<double>(position) / static_cast<double>(decay.length);
  return decay.end + (high - decay.end) * half_cosine(angle);
}

double Schedule::one_cycle(double s) const {
  const Decay& decay = config_.decay;
  const double from = config_.warmup.from, top = config_.peak;
  const double last = static_cast<double>(decay.length) - 1.0;
  const double peak = std::max(decay.peak_at * static_cast<double>(decay.length) - 1.0, 0.0);
  if (s < peak) return from + (top - from) * s / peak;
  if (s >= last) return decay.end;
  const double share = (s - peak) / (last - peak);
  if (decay.anneal == Anneal::kCosine) return decayed(half_cosine(std::numbers::pi * share));
  return top + (decay.end - top) * share;
}

double Schedule::learning_rate(std::int64_t done) const {
  const Decay& decay = config_.decay;
  if (decay.shape == DecayShape::kOneCycle) return one_cycle(static_cast<double>(done));
  if (is_in_warmup(config_.warmup, done)) {
    return rising(counts(config_.warmup.rise) ? done + 1 : done);
  }
  switch (decay.shape) {
    case DecayShape::kConstant:
      return plateau();
    case DecayShape::kStep:
      return stepped(done);
    case DecayShape::kDelayedPolynomial:
      return delayed_polynomial(done + 1);
    case DecayShape::kPeriodicCosine:
      return periodic_cosine(done + 1 - decay.begin);
    default:
      const double share =
          static_cast<double>(done - decay.begin) / static_cast<double>(decay.length);
      return decayed(remaining(std::min(share, 1.0)));
  }
}

}  // namespace nn

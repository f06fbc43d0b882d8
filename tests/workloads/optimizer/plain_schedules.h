// Learning rates as the reference implementations compute them, one function each: nn::Schedule
// must give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace plain_schedules {

inline double half_cosine_down(double from, double to, double share) {
  return to + (from - to) * (1.0 + std::cos(std::numbers::pi * share)) / 2.0;
}

/// A warm-up from `start` to `base` in `warmup` updates, then a decay over `length` more.
struct ByUpdate {
  double base = 1.0, end = 0.0, start = 0.0, power = 2.0, factor = 0.1;
  std::int64_t warmup = 0, length = 1;
  std::vector<std::int64_t> milestones;
};

inline bool warms_up(const ByUpdate& c, std::int64_t s) { return c.warmup > 0 && s <= c.warmup; }

inline double warm(const ByUpdate& c, std::int64_t s) {
  return c.start + (c.base - c.start) * static_cast<double>(s) / static_cast<double>(c.warmup);
}

inline double share(const ByUpdate& c, std::int64_t s) {
  return std::min(
      (static_cast<double>(s) - static_cast<double>(c.warmup)) / static_cast<double>(c.length),
      1.0);
}

/// mlcommons/training, TF2 ResNet.
inline double polynomial(const ByUpdate& c, std::int64_t s) {
  if (warms_up(c, s)) return warm(c, s);
  return (c.base - c.end) * std::pow(1.0 - share(c, s), c.power) + c.end;
}

inline double cosine(const ByUpdate& c, std::int64_t s) {
  if (warms_up(c, s)) return warm(c, s);
  return half_cosine_down(c.base, c.end, share(c, s));
}

inline double step(const ByUpdate& c, std::int64_t s) {
  if (warms_up(c, s)) return warm(c, s);
  const auto passed = std::upper_bound(c.milestones.begin(), c.milestones.end(), s);
  return c.base * std::pow(c.factor, static_cast<double>(passed - c.milestones.begin()));
}

/// facebookresearch/dlrm; the decay begins with update number `begin`.
inline double delayed_polynomial(const ByUpdate& c, std::int64_t begin, std::int64_t s) {
  const std::int64_t count = s + 1;
  if (count < begin) {
    if (c.warmup <= 1) return c.base;
    const auto done = static_cast<double>(std::min(count, c.warmup - 1));
    return c.base * done / static_cast<double>(c.warmup);
  }
  const std::int64_t decayed = std::min(count - begin, c.length - 1);
  const double left = static_cast<double>(c.length - decayed) / static_cast<double>(c.length);
  return std::max(c.end, c.base * std::pow(left, c.power));
}

/// PyTorch's OneCycleLR.
inline double one_cycle(const ByUpdate& c, double peak_at, bool is_linear, std::int64_t updates) {
  const auto s = static_cast<double>(updates);
  const double last = static_cast<double>(c.length) - 1.0;
  const double peak = std::max(peak_at * static_cast<double>(c.length) - 1.0, 0.0);
  if (s < peak) return c.start + (c.base - c.start) * s / peak;
  if (s >= last) return c.end;
  const double done = (s - peak) / (last - peak);
  return is_linear ? c.base + (c.end - c.base) * done : half_cosine_down(c.base, c.end, done);
}

/// mlcommons/hpc, DeepCAM. Without milestones and with `t_max` above 0: cosine_annealing.
struct DeepCam {
  double base = 1.0, warmup_factor = 1.0, decay_rate = 0.1, eta_min = 0.0;
  std::int64_t warmup = 0, t_max = 0;
  std::vector<std::int64_t> milestones;
};

inline double deepcam(const DeepCam& c, std::int64_t s) {
  const auto warm = [&](std::int64_t k) {
    const double share = static_cast<double>(k) / static_cast<double>(c.warmup);
    return c.warmup_factor == 1.0 ? c.base * share
                                  : c.base * ((c.warmup_factor - 1.0) * share + 1.0);
  };
  const std::int64_t k = s + 1;
  if (k < c.warmup) return warm(k);
  const double plateau = c.warmup > 1 ? warm(c.warmup - 1) : c.base;
  if (c.t_max == 0) {
    const auto passed =
        std::count_if(c.milestones.begin(), c.milestones.end(),
                      [&](std::int64_t milestone) { return milestone + c.warmup + 1 <= k; });
    return plateau * std::pow(c.decay_rate, static_cast<double>(passed));
  }
  const std::int64_t e = k - c.warmup;
  const double high = e <= c.t_max ? plateau : c.base;
  const double angle = std::numbers::pi * static_cast<double>(e) / static_cast<double>(c.t_max);
  return c.eta_min + (high - c.eta_min) * (1.0 + std::cos(angle)) / 2.0;
}

/// mlcommons/hpc, CosmoFlow. With `share` null, a decay in steps.
struct CosmoFlow {
  double base = 0.001, peak = 0.001, end_factor = 0.0;
  std::int64_t warmup = 0, decay_epochs = 0;
  std::vector<std::int64_t> boundaries;
  std::vector<double> factors;
  double (*share)(double t) = nullptr;
};

inline double cosmoflow(const CosmoFlow& c, std::int64_t epochs_done) {
  const auto done = static_cast<double>(epochs_done), warmup = static_cast<double>(c.warmup);
  if (epochs_done < c.warmup) return c.base + done * (c.peak - c.base) / warmup;
  if (c.share == nullptr) {
    const auto next = std::lower_bound(c.boundaries.begin(), c.boundaries.end(), epochs_done);
    if (next == c.boundaries.begin()) return c.peak;
    return c.peak * c.factors[static_cast<std::size_t>(next - c.boundaries.begin()) - 1];
  }
  const double t = std::min((done - warmup) / (static_cast<double>(c.decay_epochs) - warmup), 1.0);
  return c.peak * ((1.0 - c.end_factor) * c.share(t) + c.end_factor);
}

}  // namespace plain_schedules

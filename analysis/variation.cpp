// First principal component in two dimensions.
#include "analysis/variation.h"

#include <cmath>
#include <vector>

namespace analysis {
namespace {

/// Sums of squares and products of deviations from the mean.
struct Moments {
  double xx = 0.0, xy = 0.0, yy = 0.0;
};

Moments moments_of(const std::vector<RunPoint>& logarithms) {
  const auto n = static_cast<double>(logarithms.size());
  double x = 0.0, y = 0.0;
  for (const RunPoint& point : logarithms) {
    x += point.epochs / n;
    y += point.epoch_s / n;
  }
  Moments moments;
  for (const RunPoint& point : logarithms) {
    moments.xx += (point.epochs - x) * (point.epochs - x);
    moments.xy += (point.epochs - x) * (point.epoch_s - y);
    moments.yy += (point.epoch_s - y) * (point.epoch_s - y);
  }
  return moments;
}

/// Equal numbers may differ from their mean by rounding.
bool is_spread(double squares) {
  constexpr double kRounding = 1e-24;
  return squares > kRounding;
}

}  // namespace

std::optional<Variation> variation_of(std::span<const RunPoint> runs) {
  constexpr std::size_t kFewest = 3;
  if (runs.size() < kFewest) return std::nullopt;
  std::vector<RunPoint> logarithms;
  for (const RunPoint& run : runs) {
    logarithms.push_back({std::log10(run.epochs), std::log10(run.epoch_s)});
    if (!std::isfinite(logarithms.back().epochs)) return std::nullopt;
    if (!std::isfinite(logarithms.back().epoch_s)) return std::nullopt;
  }
  const auto [xx, xy, yy] = moments_of(logarithms);
  if (!is_spread(xx + yy)) return std::nullopt;
  // The eigenvector of the larger eigenvalue has half the angle of (xx - yy, 2 xy).
  const double half = std::hypot((xx - yy) / 2.0, xy);
  constexpr double kRound = 1e-9;
  if (half <= kRound * (xx + yy)) return std::nullopt;
  const double angle = 0.5 * std::atan2(2.0 * xy, xx - yy);
  Variation variation;
  variation.share = ((xx + yy) / 2.0 + half) / (xx + yy);
  const double epochs = std::cos(angle), epoch_s = std::sin(angle);
  const double larger = std::abs(epochs) >= std::abs(epoch_s) ? epochs : epoch_s;
  variation.epochs = larger < 0.0 ? -epochs : epochs;
  variation.epoch_s = larger < 0.0 ? -epoch_s : epoch_s;
  if (is_spread(xx) && is_spread(yy)) variation.correlation = xy / std::sqrt(xx * yy);
  return variation;
}

}  // namespace analysis

// The best AUC and the least loss for known logits.
#include "workloads/dlrm/logit_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlrm {
namespace {

/// Larger logits are clamped: their outcome is certain for all practical purposes.
constexpr double kFurthest = 32.0;
constexpr std::size_t kBins = std::size_t{1} << 20;
constexpr double kWidth = 2.0 * kFurthest / static_cast<double>(kBins);

double centre_of(std::size_t bin) { return (static_cast<double>(bin) + 0.5) * kWidth - kFurthest; }

/// log(1 + e^z) without overflow.
double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

}  // namespace

double sigmoid(double z) { return 1.0 / (1.0 + std::exp(-z)); }

LogitHistogram::LogitHistogram() : bins_(kBins) {}

void LogitHistogram::add(double logit) {
  const double place = std::clamp((logit + kFurthest) / kWidth, 0.0, double{kBins - 1});
  ++bins_[static_cast<std::size_t>(place)];
  ++samples_;
}

double LogitHistogram::bayes_auc() const {
  double ordered = 0.0, positives = 0.0, negatives = 0.0, selves = 0.0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] == 0) continue;
    const auto count = static_cast<double>(bins_[bin]);
    const double p = sigmoid(centre_of(bin)), q = 1.0 - p;
    ordered += count * p * (negatives + 0.5 * (count - 1.0) * q);
    positives += count * p;
    negatives += count * q;
    selves += count * p * q;
  }
  const double pairs = positives * negatives - selves;
  return samples_ > 1 ? ordered / pairs : std::numeric_limits<double>::quiet_NaN();
}

double LogitHistogram::entropy() const {
  double sum = 0.0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] == 0) continue;
    const double z = centre_of(bin);
    sum += static_cast<double>(bins_[bin]) * (softplus(z) - z * sigmoid(z));
  }
  return samples_ > 0 ? sum / static_cast<double>(samples_)
                      : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace dlrm

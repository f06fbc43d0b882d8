// Counts by threshold, over fewer and fewer values.
#include "workloads/parallel/largest_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "runner/base/ceil_div.h"

namespace parallel {
namespace {

/// Values whose sums are added up in order, whatever the number of threads.
constexpr std::int64_t kTogether = 4096;

struct Magnitudes {
  double sum = 0.0;
  float most = 0.0F;
};

Magnitudes magnitudes_of(std::span<const float> values) {
  const std::int64_t count = std::ssize(values), blocks = base::ceil_div(count, kTogether);
  std::vector<Magnitudes> parts(static_cast<std::size_t>(blocks));
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const float* const from = values.data() + block * kTogether;
    const std::int64_t length = std::min(kTogether, count - block * kTogether);
    Magnitudes part;
    float sums[8] = {}, most[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= length; i += 8) {
      for (int lane = 0; lane < 8; ++lane) {
        const float magnitude = std::abs(from[i + lane]);
        sums[lane] += magnitude;
        most[lane] = magnitude > most[lane] ? magnitude : most[lane];
      }
    }
    for (; i < length; ++i) {
      sums[0] += std::abs(from[i]);
      most[0] = std::max(most[0], std::abs(from[i]));
    }
    for (int lane = 0; lane < 8; ++lane) {
      part.sum += double{sums[lane]};
      part.most = std::max(part.most, most[lane]);
    }
    parts[static_cast<std::size_t>(block)] = part;
  }
  Magnitudes all;
  for (const Magnitudes& part : parts) {
    all.sum += part.sum;
    all.most = std::max(all.most, part.most);
  }
  return all;
}

/// How many magnitudes reach the threshold.
std::int64_t count_reaching(float threshold, const float* values, std::int64_t count) {
  std::int64_t reaching = 0;
#pragma omp parallel for schedule(static) reduction(+ : reaching)
  for (std::int64_t begin = 0; begin < count; begin += kTogether) {
    const std::int64_t end = std::min(count, begin + kTogether);
    std::int32_t here = 0;
    for (std::int64_t i = begin; i < end; ++i) here += std::abs(values[i]) >= threshold ? 1 : 0;
    reaching += here;
  }
  return reaching;
}

/// A number that looks random, from the bits of another.
std::uint64_t scrambled(double number) {
  auto bits = std::bit_cast<std::uint64_t>(number);
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

}  // namespace

struct LargestValues::Thresholds {
  float above = std::numeric_limits<float>::infinity();  ///< which at most k values reach
  float between = 0.0F;                                  ///< which more than k values reach
  std::int64_t values_above = 0;                         ///< that reach `above`
};

/// Leaves out candidates that do not reach the threshold.
void LargestValues::keep_reaching(float threshold) {
  reaching_.resize(std::max(reaching_.size(), candidates_.size()));
  std::size_t kept = 0;
  for (const float value : candidates_) {
    const float magnitude = std::abs(value);
    reaching_[kept] = magnitude;
    kept += magnitude >= threshold ? 1U : 0U;
  }
  candidates_ = std::span(reaching_).first(kept);
}

void LargestValues::search(double low, double high, std::int64_t k, Thresholds& found) {
  const double range = high - low;
  double below = 0.0, beyond = 1.0;
  for (int step = 0; step < kSearches && found.values_above < k; ++step) {
    const double ratio = (below + beyond) / 2.0;
    const auto threshold = static_cast<float>(low + ratio * range);
    const std::int64_t reaching =
        count_reaching(threshold, candidates_.data(), std::ssize(candidates_));
    if (reaching <= k) {
      beyond = ratio;
      if (reaching > found.values_above) {
        found.values_above = reaching;
        found.above = threshold;
      }
    } else {
      below = ratio;
      found.between = threshold;
      // Later thresholds are higher: they leave out no value that this one does not.
      if (2 * reaching <= std::ssize(candidates_)) keep_reaching(threshold);
    }
  }
}

void LargestValues::select_broken(std::span<const float> values, std::int64_t k) {
  for (const bool is_broken : {true, false}) {
    for (std::size_t i = 0; i < values.size() && std::ssize(selected_) < k; ++i) {
      if (std::isfinite(values[i]) != is_broken) selected_.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::ranges::sort(selected_);
}

std::span<const std::int32_t> LargestValues::select(std::span<const float> values, std::int64_t k) {
  selected_.clear();
  const Magnitudes all = magnitudes_of(values);
  // Finite values whose sum is infinite have diverged, too.
  if (!std::isfinite(all.sum)) {
    select_broken(values, k);
    return selected_;
  }
  candidates_ = values;
  const double mean = all.sum / static_cast<double>(values.size());
  Thresholds found;
  search(mean, double{all.most}, k, found);
  if (found.between == 0.0F) search(0.0, mean, k, found);
  above_.clear();
  between_.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float magnitude = std::abs(values[i]);
    if (magnitude < found.between) continue;
    (magnitude >= found.above ? above_ : between_).push_back(static_cast<std::int32_t>(i));
  }
  const std::int64_t missing = k - std::ssize(above_), spare = std::ssize(between_) - missing;
  const auto first =
      static_cast<std::int64_t>(scrambled(all.sum) % static_cast<std::uint64_t>(spare + 1));
  std::ranges::merge(above_,
                     std::span(between_).subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(missing)),
                     std::back_inserter(selected_));
  return selected_;
}

}  // namespace parallel

// Batches of climate samples.
#include "workloads/deepcam/climate_batches.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/layers/input_value.h"

namespace deepcam {

std::int64_t bytes_of(const dataset::ClimateSample& sample) {
  return static_cast<std::int64_t>(sample.values.size() * sizeof(float) + sample.labels.size());
}

void ClimateSlot::fill(std::int64_t index, ClimateCache& cache, const Read& read) {
  index_ = index;
  sample_ = cache.find(index);
  if (sample_) return;
  if (!own_) own_ = std::make_shared<dataset::ClimateSample>();
  read(*own_);
  sample_ = own_;
  if (cache.reserve(index, bytes_of(*own_))) cache.keep(index, std::exchange(own_, nullptr));
}

template <class T>
void normalize_into(const dataset::ClimateSample& sample,
                    const dataset::ClimateStatistics& statistics, std::span<T> input) {
  constexpr std::size_t kChannels = dataset::kClimateChannels;
  const std::size_t values = sample.values.size();
  if (sample.channels != dataset::kClimateChannels || input.size() != values) {
    throw base::ShapeError(fmt::format("normalize: expected {} values of {} channels, got {} of {}",
                                       input.size(), kChannels, values, sample.channels));
  }
  std::array<float, kChannels> ranges{};
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    ranges[channel] = statistics.maxval[channel] - statistics.minval[channel];
  }
  const float* const from = sample.values.data();
  T* const to = input.data();
  const auto points = static_cast<std::int64_t>(values / kChannels);
#pragma omp parallel for schedule(static)
  for (std::int64_t point = 0; point < points; ++point) {
    const std::size_t at = static_cast<std::size_t>(point) * kChannels;
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      const float share = (from[at + channel] - statistics.minval[channel]) / ranges[channel];
      to[at + channel] = nn::input_value<T>(share);
    }
  }
}

template void normalize_into<float>(const dataset::ClimateSample& sample,
                                    const dataset::ClimateStatistics& statistics,
                                    std::span<float> input);
template void normalize_into<nn::Bf16>(const dataset::ClimateSample& sample,
                                       const dataset::ClimateStatistics& statistics,
                                       std::span<nn::Bf16> input);

}  // namespace deepcam

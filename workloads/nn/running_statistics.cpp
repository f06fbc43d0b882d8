// The recurrence of running statistics, split over ranks.
#include "workloads/nn/running_statistics.h"

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"

namespace nn {

RunningStatistics::RunningStatistics(const Network& network) {
  for (const StatisticsSpec& spec : network.statistics()) {
    places_.push_back({half_, static_cast<std::size_t>(spec.channels), 0.0});
    half_ += static_cast<std::size_t>(spec.channels);
  }
  for (const Operation& operation : network.operations()) {
    if (operation.statistics >= 0) {
      places_[static_cast<std::size_t>(operation.statistics)].momentum = operation.momentum;
    }
  }
  kept_.assign(2 * half_, 0.0);
  std::fill(kept_.begin() + static_cast<std::ptrdiff_t>(half_), kept_.end(), 1.0);
  part_.assign(2 * half_, 0.0);
  step_.assign(2 * half_, 0.0);
  decay_.assign(places_.size(), 1.0);
}

void RunningStatistics::add_group(int index, std::span<const double> mean,
                                  std::span<const double> variance, std::int64_t points) {
  const Place& place = places_.at(static_cast<std::size_t>(index));
  // A single value per channel has no unbiased variance; the biased one (0) is used.
  const double unbiased =
      points > 1 ? static_cast<double>(points) / static_cast<double>(points - 1) : 1.0;
  for (std::size_t c = 0; c < place.channels; ++c) {
    step_[place.offset + c] += mean[c];
    step_[half_ + place.offset + c] += variance[c] * unbiased;
  }
}

bool RunningStatistics::is_finite() const {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::ranges::all_of(kept_, finite) && std::ranges::all_of(part_, finite);
}

void RunningStatistics::discard_step() { std::fill(step_.begin(), step_.end(), 0.0); }

void RunningStatistics::finish_step(std::int64_t groups) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const double fresh = place.momentum / static_cast<double>(groups);
    decay_[i] *= 1.0 - place.momentum;
    for (const std::size_t base : {place.offset, half_ + place.offset}) {
      for (std::size_t c = base; c < base + place.channels; ++c) {
        part_[c] = (1.0 - place.momentum) * part_[c] + fresh * step_[c];
      }
    }
  }
  discard_step();
}

void RunningStatistics::synchronize(const std::function<void(std::span<double>)>& sum_over_ranks) {
  if (sum_over_ranks) sum_over_ranks(part_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (const std::size_t base : {places_[i].offset, half_ + places_[i].offset}) {
      for (std::size_t c = base; c < base + places_[i].channels; ++c) {
        kept_[c] = kept_[c] * decay_[i] + part_[c];
        part_[c] = 0.0;
      }
    }
    decay_[i] = 1.0;
  }
  ++version_;
}

std::span<const double> RunningStatistics::mean(int index) const {
  const Place& place = places_.at(static_cast<std::size_t>(index));
  return {kept_.data() + place.offset, place.channels};
}

std::span<const double> RunningStatistics::variance(int index) const {
  const Place& place = places_.at(static_cast<std::size_t>(index));
  return {kept_.data() + half_ + place.offset, place.channels};
}

void RunningStatistics::set(int index, std::span<const float> mean,
                            std::span<const float> variance) {
  const Place& place = places_.at(static_cast<std::size_t>(index));
  for (std::size_t c = 0; c < place.channels; ++c) {
    kept_[place.offset + c] = static_cast<double>(mean[c]);
    kept_[half_ + place.offset + c] = static_cast<double>(variance[c]);
    part_[place.offset + c] = part_[half_ + place.offset + c] = 0.0;
  }
  decay_.at(static_cast<std::size_t>(index)) = 1.0;
  ++version_;
}

void RunningStatistics::set_parts(const Parts& parts) {
  if (parts.kept.size() != kept_.size() || parts.part.size() != part_.size() ||
      parts.decay.size() != decay_.size()) {
    throw base::ShapeError("running statistics: set_parts() got those of another network");
  }
  std::copy(parts.kept.begin(), parts.kept.end(), kept_.begin());
  std::copy(parts.part.begin(), parts.part.end(), part_.begin());
  std::copy(parts.decay.begin(), parts.decay.end(), decay_.begin());
  discard_step();
  ++version_;
}

}  // namespace nn

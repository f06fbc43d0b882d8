// Statistics of the variables of a climate dataset: what samples are normalised with.
// Hides the file stats.h5, and how sums are kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/climate.h"

namespace dataset {

/// What normalisation takes: (x - minval) / (maxval - minval), by channel.
struct ClimateStatistics {
  std::array<float, kClimateChannels> minval{}, maxval{};
};

/// Reads climate/minval and climate/maxval, 16 values each, of float32 or float64. Throws DataError
/// beginning with `path` when they are not there, not finite, or a maximum is not above its
/// minimum.
ClimateStatistics read_climate_statistics(const std::string& path);

/// Of all values of a channel.
struct ClimateSummary {
  struct Channel {
    std::int64_t count = 0;
    double sum = 0.0, squares = 0.0;  ///< of the values, and of their squares
    float minval = 0.0F, maxval = 0.0F;
  };
  std::array<Channel, kClimateChannels> channels;
};
/// Of one sample, which has kClimateChannels channels.
ClimateSummary summarize(const ClimateSample& sample);
/// Takes in what `other` saw. The order matters for the last bits of sums alone.
void merge(ClimateSummary& into, const ClimateSummary& other);

/// stats.h5 as the benchmark has it: climate/count (int64), mean, sqmean (float64), minval and
/// maxval (float32), of 16 values each; sqmean is the mean of squares.
std::vector<std::byte> encode_climate_statistics(const ClimateSummary& summary);

}  // namespace dataset

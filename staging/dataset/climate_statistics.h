// Statistics of the channels of a climate dataset, by which samples are normalised (stats.h5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/climate.h"

namespace dataset {

/// The parameters of normalisation: (x - minval) / (maxval - minval), by channel.
struct ClimateStatistics {
  std::array<float, kClimateChannels> minval{}, maxval{};
};

/// Reads climate/minval and climate/maxval, 16 values each, of float32 or float64. The file may lie
/// in a tar archive ("data.tar/stats.h5"). Throws DataError beginning with `path` when they are
/// missing or not finite, or when a maximum is not above its minimum.
ClimateStatistics read_climate_statistics(const std::string& path);

/// Sums and extremes of all values of each channel.
struct ClimateSummary {
  struct Channel {
    std::int64_t count = 0;
    double sum = 0.0, squares = 0.0;  ///< of the values, and of their squares
    float minval = 0.0F, maxval = 0.0F;
  };
  std::array<Channel, kClimateChannels> channels;
};
/// Summarises one sample of kClimateChannels channels. Throws ShapeError for another number.
ClimateSummary summarize(const ClimateSample& sample);
/// Adds `other` to `into`. The order of merging affects only the last bits of the sums.
void merge(ClimateSummary& into, const ClimateSummary& other);

/// Encodes stats.h5 as the benchmark has it: climate/count (int64), mean, sqmean (float64), minval
/// and maxval (float32), of 16 values each; sqmean is the mean of squares.
std::vector<std::byte> encode_climate_statistics(const ClimateSummary& summary);

}  // namespace dataset

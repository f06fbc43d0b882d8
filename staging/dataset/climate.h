// Samples of the DeepCAM benchmark, encoded and decoded: a moment of the atmosphere and which of
// its points belong to storms. Hides HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/file.h"

namespace dataset {

/// Variables of the atmosphere in the published files.
inline constexpr std::int64_t kClimateChannels = 16;
/// Labels: background, tropical cyclone, atmospheric river.
inline constexpr int kClimateClasses = 3;

/// One sample: the variables at each point, and each point's class.
struct ClimateSample {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<float> values;         ///< [H, W, channels]
  std::vector<std::uint8_t> labels;  ///< [H, W]
};

/// What a sample must look like.
struct ClimateShape {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = kClimateChannels;
};

/// Values of a sample of this shape. Throws ShapeError for one that no sample has: an extent below
/// 1, more than 2^40 values.
std::int64_t values_of(const ClimateShape& shape);

/// An HDF5 file as published: contiguous datasets climate/data, float32 [H, W, channels], and
/// climate/labels_0, int64 [H, W]. The same sample gives the same bytes. Throws ShapeError when
/// values or labels are not as many as the extents say.
std::vector<std::byte> encode_climate(const ClimateSample& sample);

/// Decodes into `out`, whose memory is used again. Values may be float32 or float64, labels any
/// integers or floating-point numbers, in either byte order, contiguous or chunked. Threads may
/// decode at once. Throws DataError beginning with `name` for damage, another shape than `shape`,
/// other types, values that are not finite in float32, and labels other than 0, 1 and 2.
void decode_climate_into(std::span<const std::byte> bytes, const ClimateShape& shape,
                         const std::string& name, ClimateSample& out);

/// The same of a file, of which nothing is read twice. Returns the bytes that were read.
std::int64_t read_climate_into(const File& file, const ClimateShape& shape, ClimateSample& out);

}  // namespace dataset

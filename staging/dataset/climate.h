// Samples of the DeepCAM benchmark, encoded and decoded: atmospheric variables on a grid, and the
// class of each pixel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/file.h"

namespace dataset {

/// Atmospheric variables in the published files.
inline constexpr std::int64_t kClimateChannels = 16;
/// Labels: background, tropical cyclone, atmospheric river.
inline constexpr int kClimateClasses = 3;

/// One sample: the variables and the class of each pixel.
struct ClimateSample {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<float> values;         ///< [H, W, channels]
  std::vector<std::uint8_t> labels;  ///< [H, W]
};

/// The expected shape of a sample.
struct ClimateShape {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = kClimateChannels;
};

/// Number of values of a sample of this shape. Throws ShapeError for an impossible shape: an extent
/// below 1, or more than 2^40 values.
std::int64_t values_of(const ClimateShape& shape);

/// An HDF5 file as published: contiguous datasets climate/data, float32 [H, W, channels], and
/// climate/labels_0, int64 [H, W]. Equal samples give equal bytes. Throws ShapeError when the
/// number of values or labels differs from the product of the extents.
std::vector<std::byte> encode_climate(const ClimateSample& sample);

/// Decodes into `out`, reusing its memory. Values may be float32 or float64, labels any integers or
/// floating-point numbers, in either byte order, contiguous or chunked. The file may be compressed
/// (expand.h). Thread-safe. Throws DataError beginning with `name` for damage, expanded content
/// beyond most_file_bytes(), another shape than `shape`, other types, values that are not finite in
/// float32, and labels other than 0, 1 and 2.
void decode_climate_into(std::span<const std::byte> bytes, const ClimateShape& shape,
                         const std::string& name, ClimateSample& out);

/// The same for a file, no byte of which is read twice. Returns the number of bytes read.
std::int64_t read_climate_into(const File& file, const ClimateShape& shape, ClimateSample& out);

}  // namespace dataset

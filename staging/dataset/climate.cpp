// Samples of the DeepCAM benchmark, encoded and decoded.
#include "staging/dataset/climate.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/h5_array.h"
#include "staging/dataset/h5_numbers.h"
#include "staging/dataset/listing.h"

namespace dataset {
namespace {

constexpr const char* kValues = "climate/data";
constexpr const char* kLabels = "climate/labels_0";

struct Found {
  StoredArray values, labels;
};

/// Finds the array. Throws DataError unless it has the expected shape and `takes` accepts its type.
template <class Takes>
StoredArray find(const H5Arrays& arrays, const char* path, const std::vector<hsize_t>& expected,
                 const char* types, const Takes& takes) {
  if (!arrays.has(path)) {
    throw base::DataError(fmt::format("{}: expected a dataset, found none{}", arrays.label(path),
                                      arrays.broken_link(path)));
  }
  const H5Dataset dataset = arrays.open(path);
  const std::vector<hsize_t> found = dims_of(dataset);
  if (found != expected || !takes(number_of(dataset))) {
    throw base::DataError(fmt::format("{}: expected {} of shape [{}], found {} of shape [{}]",
                                      arrays.label(path), types, fmt::join(expected, ", "),
                                      type_in_words(dataset), fmt::join(found, ", ")));
  }
  return arrays.find(dataset, path);
}

Found look_into(H5Storage& storage, const ClimateShape& shape, const std::string& name) {
  const H5Section section;
  const H5Arrays arrays(storage, name);
  const auto height = static_cast<hsize_t>(shape.height), width = static_cast<hsize_t>(shape.width);
  const auto channels = static_cast<hsize_t>(shape.channels);
  Found found;
  found.values = find(arrays, kValues, {height, width, channels}, "float32 or float64",
                      [](const H5Number& number) { return number.is_float(); });
  found.labels = find(arrays, kLabels, {height, width}, "integers or floating-point numbers",
                      [](const H5Number& number) { return number.kind != H5Number::Kind::kOther; });
  return found;
}

bool is_finite(float value) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  return (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
}

void check_values(const ClimateSample& sample, const std::string& label) {
  bool all = true;  // no early exit, so that the loop can be vectorised
  for (const float value : sample.values) all &= is_finite(value);
  if (all) return;
  const auto found = std::find_if_not(sample.values.begin(), sample.values.end(), is_finite);
  const std::int64_t at = found - sample.values.begin(), point = at / sample.channels;
  throw base::DataError(fmt::format("{}: expected finite values, found {} at [{}, {}, {}]", label,
                                    *found, point / sample.width, point % sample.width,
                                    at % sample.channels));
}

void take_labels(H5Storage& storage, const StoredArray& array, ClimateSample& out) {
  const std::vector<std::byte> bytes = read_values(storage, array);
  std::size_t at = 0;
  for_each_number(array.number, bytes, [&](double label) {
    const bool is_label = label == 0.0 || label == 1.0 || label == 2.0;
    if (!is_label) {
      const auto point = static_cast<std::int64_t>(at);
      throw base::DataError(fmt::format("{}: expected labels 0, 1 and 2, found {} at [{}, {}]",
                                        array.label, label, point / out.width, point % out.width));
    }
    out.labels[at++] = static_cast<std::uint8_t>(label);
  });
}

void decode_from(H5Storage& storage, const ClimateShape& shape, const std::string& name,
                 ClimateSample& out) {
  const auto values = static_cast<std::size_t>(values_of(shape));
  const Found found = look_into(storage, shape, name);
  out.height = shape.height;
  out.width = shape.width;
  out.channels = shape.channels;
  out.values.resize(values);
  out.labels.resize(values / static_cast<std::size_t>(shape.channels));
  read_floats(storage, found.values, out.values);
  check_values(out, found.values.label);
  take_labels(storage, found.labels, out);
}

}  // namespace

std::int64_t values_of(const ClimateShape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t values = 1;
  for (const std::int64_t extent : {shape.height, shape.width, shape.channels}) {
    if (extent < 1 || extent > kMost / values) {
      throw base::ShapeError(fmt::format(
          "climate sample: expected extents of at least 1 and no more than {} values, got "
          "[{}, {}, {}]",
          kMost, shape.height, shape.width, shape.channels));
    }
    values *= extent;
  }
  return values;
}

std::vector<std::byte> encode_climate(const ClimateSample& sample) {
  constexpr std::size_t kHeaders = 16384;
  const auto values =
      static_cast<std::size_t>(values_of({sample.height, sample.width, sample.channels}));
  const std::size_t points = values / static_cast<std::size_t>(sample.channels);
  if (sample.values.size() != values || sample.labels.size() != points) {
    throw base::ShapeError(
        fmt::format("climate sample: expected {} values and {} labels, got {} and {}", values,
                    points, sample.values.size(), sample.labels.size()));
  }
  const std::vector<std::int64_t> labels(sample.labels.begin(), sample.labels.end());
  const auto height = static_cast<hsize_t>(sample.height),
             width = static_cast<hsize_t>(sample.width);
  H5Buffer buffer;
  buffer.bytes.reserve(values * sizeof(float) + points * sizeof(std::int64_t) + kHeaders);
  const H5Section section;
  {
    const H5FileHandle file = create_h5(buffer, H5P_DEFAULT, "climate sample");
    write_h5_array(file, kValues, H5T_IEEE_F32LE,
                   {height, width, static_cast<hsize_t>(sample.channels)}, sample.values.data());
    write_h5_array(file, kLabels, H5T_STD_I64LE, {height, width}, labels.data());
    flush_h5(file, "climate sample");
  }
  return std::move(buffer.bytes);
}

void decode_climate_into(std::span<const std::byte> bytes, const ClimateShape& shape,
                         const std::string& name, ClimateSample& out) {
  if (compression_of(bytes) == Compression::kNone) {
    H5Memory memory(bytes, name);
    return decode_from(memory, shape, name, out);
  }
  const auto most_bytes =
      most_file_bytes(values_of(shape) * static_cast<std::int64_t>(sizeof(double)));
  const std::vector<std::byte> expanded = expand(bytes, most_bytes, name);
  const std::string expanded_name = name + " (expanded)";
  H5Memory memory(expanded, expanded_name);
  decode_from(memory, shape, expanded_name, out);
}

std::int64_t read_climate_into(const File& file, const ClimateShape& shape, ClimateSample& out) {
  H5FileParts parts(file);
  if (compression_of(parts.head()) == Compression::kNone) {
    decode_from(parts, shape, file.path(), out);
    return parts.bytes_read();
  }
  decode_climate_into(read_rest(file, parts.head()), shape, file.path(), out);
  return file.size();
}

}  // namespace dataset

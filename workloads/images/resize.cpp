// Resizing a region of an image by the two methods that the references use.
#include "workloads/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace images {
namespace {

constexpr int kChannels = 3;

const std::uint8_t* row_of(const dataset::Image& image, const Region& region, int y) {
  const auto place = (std::int64_t{region.top} + y) * image.width + region.left;
  return image.pixels.data() + place * kChannels;
}

/// value = low + (high - low) * weight
struct Tap {
  int low = 0, high = 0;
  float weight = 0.0F;
};

/// Taps of outputs [first, first + count) of an axis that is resized from `in` to `out`.
std::vector<Tap> legacy_taps(int in, int out, int first, int count) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Tap> taps(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const float source = static_cast<float>(first + i) * scale;
    const int low = std::min(static_cast<int>(source), in - 1);
    taps[static_cast<std::size_t>(i)] = {low, std::min(low + 1, in - 1),
                                         source - static_cast<float>(low)};
  }
  return taps;
}

/// Fixed-point weights for a run of source pixels.
struct Filter {
  int first = 0;
  std::vector<std::int32_t> weights;
};
constexpr int kFixedBits = 22;

std::vector<Filter> triangle_filters(int in, int out, int first, int count) {
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(scale, 1.0);
  std::vector<Filter> filters(static_cast<std::size_t>(count));
  std::vector<double> weights;
  for (int i = 0; i < count; ++i) {
    const double center = (first + i + 0.5) * scale;
    const int begin = std::max(static_cast<int>(std::lround(center - support)), 0);
    const int end = std::min(static_cast<int>(std::lround(center + support)), in);
    weights.clear();
    double sum = 0.0;
    for (int x = begin; x < end; ++x) {
      weights.push_back(std::max(0.0, 1.0 - std::abs((x + 0.5 - center) / support)));
      sum += weights.back();
    }
    Filter& filter = filters[static_cast<std::size_t>(i)];
    filter.first = begin;
    for (const double weight : weights) {
      filter.weights.push_back(
          static_cast<std::int32_t>(std::lround(weight / sum * (1 << kFixedBits))));
    }
  }
  return filters;
}

/// The filtered value of one channel of pixels that are `stride` bytes apart.
std::uint8_t apply(const Filter& filter, const std::uint8_t* pixels, std::ptrdiff_t stride) {
  std::int32_t sum = 1 << (kFixedBits - 1);
  const std::uint8_t* source = pixels + filter.first * stride;
  for (const std::int32_t weight : filter.weights) {
    sum += *source * weight;
    source += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kFixedBits, 0, 255));
}

/// Computes one row of `out`, whose channels are `plane` floats apart, from two rows of pixels.
void blend_rows(const std::uint8_t* upper, const std::uint8_t* lower, float weight,
                const std::vector<Tap>& columns, std::size_t plane, float* out) {
  for (std::size_t x = 0; x < columns.size(); ++x) {
    const Tap& column = columns[x];
    for (std::size_t c = 0; c < kChannels; ++c) {
      const auto at = [&](const std::uint8_t* pixels) {
        const float left = pixels[static_cast<std::size_t>(column.low) + c];
        const float right = pixels[static_cast<std::size_t>(column.high) + c];
        return left + (right - left) * column.weight;
      };
      const float top = at(upper), bottom = at(lower);
      out[c * plane + x] = top + (bottom - top) * weight;
    }
  }
}

}  // namespace

void resize_legacy(const dataset::Image& image, const Region& region, const Target& target,
                   Mirror mirror, std::span<float> out) {
  const int size = target.size;
  const auto rows = legacy_taps(region.height, target.height, target.top, size);
  auto columns = legacy_taps(region.width, target.width, target.left, size);
  for (Tap& tap : columns) {
    if (mirror == Mirror::kYes) {
      tap.low = region.width - 1 - tap.low;
      tap.high = region.width - 1 - tap.high;
    }
    tap.low *= kChannels;
    tap.high *= kChannels;
  }
  const auto plane = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  float* target_row = out.data();
  for (const Tap& row : rows) {
    blend_rows(row_of(image, region, row.low), row_of(image, region, row.high), row.weight, columns,
               plane, target_row);
    target_row += size;
  }
}

void resize_antialiased(const dataset::Image& image, const Region& region, const Target& target,
                        Mirror mirror, std::span<float> out) {
  const int size = target.size;
  const auto rows = triangle_filters(region.height, target.height, target.top, size);
  const auto columns = triangle_filters(region.width, target.width, target.left, size);
  const int first_row = rows.front().first;
  const int last_row = rows.back().first + static_cast<int>(rows.back().weights.size());
  const std::ptrdiff_t stride = std::ptrdiff_t{size} * kChannels;

  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>((last_row - first_row) * stride));
  std::uint8_t* write = narrowed.data();
  for (int y = first_row; y < last_row; ++y) {
    const std::uint8_t* source = row_of(image, region, y);
    for (const Filter& column : columns) {
      for (int c = 0; c < kChannels; ++c) *write++ = apply(column, source + c, kChannels);
    }
  }

  float* write_out = out.data();
  for (int c = 0; c < kChannels; ++c) {
    for (const Filter& row : rows) {
      for (int x = 0; x < size; ++x) {
        const int source_x = mirror == Mirror::kYes ? size - 1 - x : x;
        const std::ptrdiff_t at = std::ptrdiff_t{source_x} * kChannels + c - first_row * stride;
        *write_out++ = apply(row, narrowed.data() + at, stride);
      }
    }
  }
}

}  // namespace images

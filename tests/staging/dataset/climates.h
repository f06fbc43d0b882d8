// Small climate samples, for tests.
#pragma once

#include <cstring>

#include "staging/dataset/climate.h"

namespace dataset {

inline constexpr ClimateShape kTinyClimate{3, 5};

/// Every value differs from its neighbours, and every label occurs.
inline ClimateSample made_climate(const ClimateShape& shape, int number = 0) {
  ClimateSample sample{shape.height, shape.width, shape.channels, {}, {}};
  const std::int64_t points = shape.height * shape.width;
  for (std::int64_t i = 0; i < points * shape.channels; ++i) {
    sample.values.push_back(static_cast<float>((i * 7919 + number) % 10007) - 5000.25F);
  }
  for (std::int64_t i = 0; i < points; ++i) {
    sample.labels.push_back(static_cast<std::uint8_t>((i + number) % kClimateClasses));
  }
  return sample;
}

/// Compares bitwise.
inline bool same(const ClimateSample& a, const ClimateSample& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels &&
         a.labels == b.labels && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

}  // namespace dataset

// The points of a climate sample on the globe, and its variables by name.
// Hides nothing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "staging/dataset/climate.h"

namespace deepcam {

/// In the order of the published files.
enum class Variable : std::size_t {
  kTmq,     ///< water vapour in a column of air, kg/m^2
  kU850,    ///< wind to the east at 850 hPa, m/s
  kV850,    ///< wind to the north at 850 hPa
  kUbot,    ///< wind to the east at the bottom
  kVbot,    ///< wind to the north at the bottom
  kQrefht,  ///< humidity at reference height, kg/kg
  kPs,      ///< pressure at the surface, Pa
  kPsl,     ///< pressure at sea level
  kT200,    ///< temperature at 200 hPa, K
  kT500,    ///< temperature at 500 hPa
  kPrect,   ///< precipitation, m/s
  kTs,      ///< temperature of the surface, K
  kTrefht,  ///< temperature at reference height
  kZ1000,   ///< height of 1000 hPa, m
  kZ200,    ///< height of 200 hPa
  kZbot     ///< height of the lowest level
};

enum Label : std::uint8_t { kBackground, kCyclone, kRiver };

/// A variable at a point, counted row by row.
inline float& at(dataset::ClimateSample& sample, std::size_t point, Variable variable) {
  return sample.values[point * static_cast<std::size_t>(dataset::kClimateChannels) +
                       static_cast<std::size_t>(variable)];
}

inline double in_radians(double degrees) { return degrees * std::numbers::pi / 180.0; }

/// Degrees: latitudes from pole to pole, both included, longitudes around the globe.
struct ClimateGrid {
  std::int64_t height = 0, width = 0;
  double latitude(std::int64_t row) const {
    return -90.0 + 180.0 * static_cast<double>(row) / static_cast<double>(height - 1);
  }
  double longitude(std::int64_t column) const {
    return 360.0 * static_cast<double>(column) / static_cast<double>(width);
  }
  std::size_t point(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * width + column);
  }
};

}  // namespace deepcam

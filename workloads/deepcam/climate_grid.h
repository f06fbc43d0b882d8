// The pixels of a climate sample on the globe, and its variables by name.
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
  kU850,    ///< eastward wind at 850 hPa, m/s
  kV850,    ///< northward wind at 850 hPa
  kUbot,    ///< eastward wind at the lowest level
  kVbot,    ///< northward wind at the lowest level
  kQrefht,  ///< humidity at reference height, kg/kg
  kPs,      ///< surface pressure, Pa
  kPsl,     ///< pressure at sea level
  kT200,    ///< temperature at 200 hPa, K
  kT500,    ///< temperature at 500 hPa
  kPrect,   ///< precipitation, m/s
  kTs,      ///< surface temperature, K
  kTrefht,  ///< temperature at reference height
  kZ1000,   ///< height of the 1000 hPa level, m
  kZ200,    ///< height of the 200 hPa level
  kZbot     ///< height of the lowest level
};

enum Label : std::uint8_t { kBackground, kCyclone, kRiver };

/// A variable at a pixel; pixels are numbered row by row.
inline float& at(dataset::ClimateSample& sample, std::size_t point, Variable variable) {
  return sample.values[point * static_cast<std::size_t>(dataset::kClimateChannels) +
                       static_cast<std::size_t>(variable)];
}

inline double in_radians(double degrees) { return degrees * std::numbers::pi / 180.0; }

/// Coordinates in degrees. Latitudes go from the south pole to the north pole, both included;
/// longitudes go around the globe.
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

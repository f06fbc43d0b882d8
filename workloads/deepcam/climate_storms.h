// Storms: how they are drawn, and how they change the weather.
#pragma once

#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/climate.h"

namespace deepcam {

/// A vortex. Units are degrees and Pa.
/// Source: Holland, Monthly Weather Review 108 (1980) 1212, equations 2 and 4.
struct TropicalCyclone {
  double latitude = 0.0, longitude = 0.0;
  double depth = 0.0;   ///< pressure drop in the centre
  double shape = 0.0;   ///< Holland's B
  double radius = 0.0;  ///< radius of the strongest wind
};

/// A band of moist air that leads from the tropics poleward and eastward. In degrees.
struct AtmosphericRiver {
  double hemisphere = 1.0;                           ///< 1: northern, -1: southern
  double first_latitude = 0.0, last_latitude = 0.0;  ///< absolute values
  double longitude = 0.0, span = 0.0;  ///< where it begins, and how far east it extends
  double bow = 0.0;                    ///< deviation poleward of the straight line
  double half_width = 0.0;
  double moisture = 0.0;  ///< in the middle of the band, kg/m^2
};

struct Storms {
  std::vector<AtmosphericRiver> rivers;
  std::vector<TropicalCyclone> cyclones;
};

/// Draws Poisson-distributed numbers of storms, on average 2.6 rivers and 2.4 cyclones, with the
/// sizes that they have on a grid of kFullWidth columns.
inline constexpr std::int64_t kFullWidth = 1152;
Storms draw_storms(base::RandomStream& random);

/// Adds the effects of storms to TMQ, PSL, the winds at 850 hPa, T200, T500 and PRECT of `sample`,
/// and labels their pixels; cyclones take precedence over rivers. Applies widened() first.
void plant(const Storms& storms, dataset::ClimateSample& sample);

/// Scales radii and widths for a grid of `width` columns: on coarser grids storms are larger, so
/// that they remain resolved.
Storms widened(Storms storms, std::int64_t width);

}  // namespace deepcam

// Storms: what they are, how they are drawn, and what they do to the weather.
// Hides distances on the globe.
#pragma once

#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/climate.h"

namespace deepcam {

/// A vortex. Degrees and Pa.
/// Source: Holland, Monthly Weather Review 108 (1980) 1212, equations 2 and 4.
struct TropicalCyclone {
  double latitude = 0.0, longitude = 0.0;
  double depth = 0.0;   ///< how much less pressure there is in the centre
  double shape = 0.0;   ///< Holland's B
  double radius = 0.0;  ///< of the strongest wind
};

/// A band of moist air that leads from the tropics poleward and to the east. Degrees.
struct AtmosphericRiver {
  double hemisphere = 1.0;                           ///< -1: the southern one
  double first_latitude = 0.0, last_latitude = 0.0;  ///< without sign
  double longitude = 0.0, span = 0.0;                ///< where it begins, and how far it goes
  double bow = 0.0;                                  ///< poleward of the straight line
  double half_width = 0.0;
  double moisture = 0.0;  ///< in the middle, kg/m^2
};

struct Storms {
  std::vector<AtmosphericRiver> rivers;
  std::vector<TropicalCyclone> cyclones;
};

/// Poisson numbers of them, 2.6 rivers and 2.4 cyclones on average, as they are on a grid of
/// kFullWidth columns.
inline constexpr std::int64_t kFullWidth = 1152;
Storms draw_storms(base::RandomStream& random);

/// Adds what storms do to TMQ, PSL, winds at 850 hPa, T200, T500 and PRECT of `sample`, and labels
/// their points; cyclones win over rivers. On grids of fewer columns radii and widths are larger,
/// so that labels stay resolvable.
void plant(const Storms& storms, dataset::ClimateSample& sample);

/// The storms as plant() has them on a grid of `width` columns.
Storms widened(Storms storms, std::int64_t width);

}  // namespace deepcam

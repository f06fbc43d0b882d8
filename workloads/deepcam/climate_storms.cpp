// Storms in the weather.
#include "workloads/deepcam/climate_storms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "workloads/deepcam/climate_grid.h"
#include "workloads/deepcam/squared.h"

namespace deepcam {
namespace {

void add(float& to, double value) { to += static_cast<float>(value); }

/// Knuth's algorithm: a product of uniform numbers.
int poisson(base::RandomStream& random, double mean) {
  const double least = std::exp(-mean);
  int count = 0;
  for (double product = random.uniform(); product > least; product *= random.uniform()) ++count;
  return count;
}

double hemisphere(base::RandomStream& random) { return random.below(2) == 0 ? 1.0 : -1.0; }

/// The equivalent angle from -180 to 180.
double turned(double degrees) { return degrees - 360.0 * std::round(degrees / 360.0); }

/// The effect of a cyclone at a distance of `r` degrees.
struct Vortex {
  double pressure = 0.0, wind = 0.0;
};

Vortex vortex_at(const TropicalCyclone& cyclone, double r) {
  constexpr double kDensity = 1.15;  // density of air, kg/m^3
  constexpr double kReach = 8.0;     // range of the wind, degrees
  const double share = std::pow(cyclone.radius / std::max(r, 1e-9), cyclone.shape);
  const double rest = std::exp(-share);  // 0 in the centre
  return {-cyclone.depth * (1.0 - rest),
          rest == 0.0 ? 0.0
                      : std::sqrt(cyclone.shape * cyclone.depth / kDensity * share * rest) *
                            std::exp(-squared(r / kReach))};
}

/// `east` and `north`: position relative to the centre, in degrees of a great circle.
void plant_at(const TropicalCyclone& cyclone, double east, double north, std::size_t point,
              dataset::ClimateSample& sample) {
  constexpr double kMaskRadii = 3.6, kFarRadii = 16.0;
  constexpr double kMoisture = 22.0, kWarmth500 = 3.0, kWarmth200 = 5.0, kRain = 3e-7;
  const double r = std::sqrt(squared(east) + squared(north)), radii = r / cyclone.radius;
  const Vortex vortex = vortex_at(cyclone, r);
  add(at(sample, point, Variable::kPsl), vortex.pressure);
  if (r > 0.0) {
    const double spin = cyclone.latitude > 0.0 ? 1.0 : -1.0;  // counterclockwise in the north
    add(at(sample, point, Variable::kU850), -spin * vortex.wind * north / r);
    add(at(sample, point, Variable::kV850), spin * vortex.wind * east / r);
  }
  if (radii > kFarRadii) return;
  add(at(sample, point, Variable::kTmq), kMoisture * std::exp(-squared(radii / 3.0)));
  add(at(sample, point, Variable::kT500), kWarmth500 * std::exp(-squared(radii / 2.0)));
  add(at(sample, point, Variable::kT200), kWarmth200 * std::exp(-squared(radii / 3.0)));
  add(at(sample, point, Variable::kPrect), kRain * std::exp(-squared(radii - 1.5)));  // a ring
  if (radii < kMaskRadii) sample.labels[point] = kCyclone;
}

void plant_cyclone(const TropicalCyclone& cyclone, dataset::ClimateSample& sample) {
  const ClimateGrid grid{sample.height, sample.width};
  for (std::int64_t row = 0; row < grid.height; ++row) {
    const double latitude = grid.latitude(row);
    const double narrow = std::cos(in_radians((latitude + cyclone.latitude) / 2.0));
    for (std::int64_t column = 0; column < grid.width; ++column) {
      const double east = turned(grid.longitude(column) - cyclone.longitude) * narrow;
      plant_at(cyclone, east, latitude - cyclone.latitude, grid.point(row, column), sample);
    }
  }
}

/// A river as a polyline.
class Path {
 public:
  struct Nearest {
    double squares = std::numeric_limits<double>::infinity();  ///< squared distance
    std::size_t point = 0;
  };
  explicit Path(const AtmosphericRiver& river) : river_(river) {
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const double t = share(i);
      const double poleward = river.first_latitude +
                              (river.last_latitude - river.first_latitude) * t +
                              river.bow * std::sin(std::numbers::pi * t);
      latitudes_.push_back(river.hemisphere * poleward);
    }
  }
  static double share(std::size_t point) {
    return static_cast<double>(point) / static_cast<double>(kSteps);
  }
  double least_latitude() const { return *std::min_element(latitudes_.begin(), latitudes_.end()); }
  double most_latitude() const { return *std::max_element(latitudes_.begin(), latitudes_.end()); }

  /// The nearest point of the path. `east`: degrees of longitude east of the river's begin.
  Nearest nearest(double latitude, double east) const {
    const double narrow = squared(std::cos(in_radians(latitude)));
    Nearest nearest;
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const double squares =
          squared(latitude - latitudes_[i]) + squared(east - river_.span * share(i)) * narrow;
      if (squares < nearest.squares) nearest = {squares, i};
    }
    return nearest;
  }
  /// Unit vector of the wind: its eastward and northward components.
  std::pair<double, double> direction(std::size_t point) const {
    const std::size_t first = std::min(point, kSteps - 1);
    const double north = latitudes_[first + 1] - latitudes_[first];
    const double east =
        river_.span / static_cast<double>(kSteps) * std::cos(in_radians(latitudes_[first]));
    const double length = std::sqrt(squared(north) + squared(east));
    return {east / length, north / length};
  }

 private:
  static constexpr std::size_t kSteps = 192;
  const AtmosphericRiver& river_;
  std::vector<double> latitudes_;
};

/// 1 in the middle, falling to 0 towards both ends.
double taper_at(double t) {
  constexpr double kEnds = 0.12;
  return std::clamp(std::min(t, 1.0 - t) / kEnds, 0.0, 1.0);
}

void plant_at(const AtmosphericRiver& river, const Path& path, const Path::Nearest& nearest,
              std::size_t point, dataset::ClimateSample& sample) {
  constexpr double kMaskWidths = 1.18, kMaskTaper = 0.5, kWind = 15.0, kRain = 6e-8;
  const double taper = taper_at(Path::share(nearest.point));
  const double part = taper * std::exp(-0.5 * nearest.squares / squared(river.half_width));
  const auto [east, north] = path.direction(nearest.point);
  add(at(sample, point, Variable::kTmq), river.moisture * part);
  add(at(sample, point, Variable::kU850), kWind * part * east);
  add(at(sample, point, Variable::kV850), kWind * part * north);
  add(at(sample, point, Variable::kPrect), kRain * part);
  if (nearest.squares < squared(kMaskWidths * river.half_width) && taper > kMaskTaper) {
    sample.labels[point] = kRiver;
  }
}

void plant_river(const AtmosphericRiver& river, dataset::ClimateSample& sample) {
  constexpr double kFarWidths = 5.0, kLeastNarrow = 0.1;
  const ClimateGrid grid{sample.height, sample.width};
  const Path path(river);
  const double far = kFarWidths * river.half_width;
  for (std::int64_t row = 0; row < grid.height; ++row) {
    const double latitude = grid.latitude(row);
    if (latitude < path.least_latitude() - far || latitude > path.most_latitude() + far) continue;
    const double margin = far / std::max(std::cos(in_radians(latitude)), kLeastNarrow);
    const double middle = river.longitude + river.span / 2.0, half = river.span / 2.0 + margin;
    for (std::int64_t column = 0; column < grid.width; ++column) {
      const double from_middle = turned(grid.longitude(column) - middle);
      if (std::abs(from_middle) > half) continue;
      const Path::Nearest nearest = path.nearest(latitude, from_middle + river.span / 2.0);
      if (nearest.squares > squared(far)) continue;
      plant_at(river, path, nearest, grid.point(row, column), sample);
    }
  }
}

}  // namespace

Storms draw_storms(base::RandomStream& random) {
  constexpr double kRivers = 2.6, kCyclones = 2.4;
  Storms storms;
  for (int rest = poisson(random, kRivers); rest > 0; --rest) {
    AtmosphericRiver river;
    river.hemisphere = hemisphere(random);
    river.first_latitude = random.uniform(15.0, 25.0);
    river.last_latitude = random.uniform(42.0, 58.0);
    river.longitude = random.uniform(0.0, 360.0);
    river.span = random.uniform(35.0, 75.0);
    river.bow = random.uniform(-8.0, 8.0);
    river.half_width = random.uniform(1.6, 3.0);
    river.moisture = random.uniform(14.0, 26.0);
    storms.rivers.push_back(river);
  }
  for (int rest = poisson(random, kCyclones); rest > 0; --rest) {
    TropicalCyclone cyclone;
    cyclone.latitude = hemisphere(random) * random.uniform(8.0, 30.0);
    cyclone.longitude = random.uniform(0.0, 360.0);
    cyclone.depth = random.uniform(2500.0, 7000.0);
    cyclone.shape = random.uniform(1.1, 1.6);
    cyclone.radius = random.uniform(0.4, 0.7);
    storms.cyclones.push_back(cyclone);
  }
  return storms;
}

Storms widened(Storms storms, std::int64_t width) {
  const double coarser = static_cast<double>(kFullWidth) / static_cast<double>(width);
  for (AtmosphericRiver& river : storms.rivers) river.half_width *= std::pow(coarser, 0.25);
  for (TropicalCyclone& cyclone : storms.cyclones) cyclone.radius *= std::sqrt(coarser);
  return storms;
}

void plant(const Storms& storms, dataset::ClimateSample& sample) {
  const Storms here = widened(storms, sample.width);
  for (const AtmosphericRiver& river : here.rivers) plant_river(river, sample);
  for (const TropicalCyclone& cyclone : here.cyclones) plant_cyclone(cyclone, sample);
}

}  // namespace deepcam

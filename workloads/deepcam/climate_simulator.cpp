// Simulated climate samples.
#include "workloads/deepcam/climate_simulator.h"

#include <algorithm>
#include <cmath>

#include "runner/base/hash_chain.h"
#include "runner/base/random.h"
#include "workloads/deepcam/squared.h"

namespace deepcam {
namespace {

/// The purpose of a sample's random numbers; enters the hash, like the number of a pair of fields.
enum class Use : std::uint64_t { kStorms, kFields };

std::uint64_t stream_of(std::uint64_t seed, SampleSet set, std::int64_t index, Use use) {
  return base::chain({seed, static_cast<std::uint64_t>(set), static_cast<std::uint64_t>(index),
                      static_cast<std::uint64_t>(use)});
}

/// Mean zonal wind at a latitude, m/s.
double jet(double latitude) {
  return 18.0 * std::exp(-squared((std::abs(latitude) - 42.0) / 14.0)) -
         6.0 * std::exp(-squared(latitude / 15.0));
}

/// Computes the variables that depend on others, including storms. Variables with additional noise
/// already contain it.
void derive(dataset::ClimateSample& sample) {
  const std::size_t points = sample.labels.size();
  for (std::size_t point = 0; point < points; ++point) {
    const auto of = [&](Variable variable) -> float& { return at(sample, point, variable); };
    const float pressure = of(Variable::kPsl);
    of(Variable::kUbot) += 0.7F * of(Variable::kU850);
    of(Variable::kVbot) += 0.7F * of(Variable::kV850);
    of(Variable::kQrefht) = 1e-3F * (2.0F + 0.28F * of(Variable::kTmq));
    of(Variable::kPs) += pressure;
    of(Variable::kTrefht) += of(Variable::kTs);
    of(Variable::kZ1000) = (pressure - 100000.0F) / 12.0F;
    of(Variable::kZbot) = 65.0F * of(Variable::kTrefht) / 288.0F;  // a layer of constant thickness
  }
}

}  // namespace

ClimateSimulator::ClimateSimulator(std::int64_t height, std::int64_t width)
    : grid_{height, width}, fields_(height, width) {}

std::int64_t ClimateSimulator::scratch_bytes(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kPlanes = 2;
  return ClimateFields::scratch_bytes(height, width) +
         kPlanes * height * width * static_cast<std::int64_t>(sizeof(float));
}

Storms ClimateSimulator::storms_of(std::uint64_t seed, SampleSet set, std::int64_t index) {
  base::RandomStream random(stream_of(seed, set, index, Use::kStorms), base::Purpose::kGenerate, 0,
                            0);
  return draw_storms(random);
}

void ClimateSimulator::draw(std::uint64_t seed, SampleSet set, std::int64_t index,
                            dataset::ClimateSample& sample) {
  sample.height = grid_.height;
  sample.width = grid_.width;
  sample.channels = dataset::kClimateChannels;
  const auto points = static_cast<std::size_t>(grid_.height * grid_.width);
  sample.values.resize(points * static_cast<std::size_t>(sample.channels));
  sample.labels.assign(points, kBackground);
  draw_background(stream_of(seed, set, index, Use::kFields), sample);
  plant(storms_of(seed, set, index), sample);
  derive(sample);
}

/// Calls set(latitude in degrees) for each row, and the function that it returns for each pixel of
/// the row.
template <class Set>
void ClimateSimulator::for_each_point(const Set& set) const {
  for (std::int64_t row = 0; row < grid_.height; ++row) {
    const double latitude = grid_.latitude(row);
    const auto set_row = set(latitude);
    for (std::int64_t column = 0; column < grid_.width; ++column) {
      set_row(grid_.point(row, column));
    }
  }
}

/// Sets the wind to the jet plus rotational noise of 7 m/s with the stream function first_.
void ClimateSimulator::set_flow(dataset::ClimateSample& sample) const {
  constexpr double kNoise = 7.0;
  const auto [down, along] = fields_.slope_deviations();
  const auto of_down = static_cast<float>(kNoise / (2.0 * down));
  const auto of_along = static_cast<float>(kNoise / (2.0 * along));
  for (std::int64_t row = 0; row < grid_.height; ++row) {
    const auto mean = static_cast<float>(jet(grid_.latitude(row)));
    const std::int64_t above = (row + 1) % grid_.height;
    const std::int64_t below = (row + grid_.height - 1) % grid_.height;
    for (std::int64_t column = 0; column < grid_.width; ++column) {
      const std::int64_t right = (column + 1) % grid_.width;
      const std::int64_t left = (column + grid_.width - 1) % grid_.width;
      const std::size_t point = grid_.point(row, column);
      at(sample, point, Variable::kU850) = mean - of_down * (first_[grid_.point(above, column)] -
                                                             first_[grid_.point(below, column)]);
      at(sample, point, Variable::kV850) =
          of_along * (first_[grid_.point(row, right)] - first_[grid_.point(row, left)]);
    }
  }
}

/// Draws the fields in pairs, numbered g0, g1, ...
void ClimateSimulator::draw_background(std::uint64_t stream, dataset::ClimateSample& sample) {
  std::uint64_t pair = 0;
  const auto draw_pair = [&] { fields_.draw(base::chain({pair++}, stream), first_, second_); };

  draw_pair();  // g0, g1
  set_flow(sample);
  for_each_point([&](double latitude) {
    const auto mean = static_cast<float>(50.0 * std::exp(-squared(latitude / 22.0)) + 5.0);
    return [&, mean](std::size_t point) {
      at(sample, point, Variable::kTmq) = std::max(mean * (1.0F + 0.22F * second_[point]), 0.5F);
    };
  });
  draw_pair();  // g2, g3
  for_each_point([&](double latitude) {
    const double phi = in_radians(latitude);
    const auto pressure = static_cast<float>(101300.0 - 600.0 * std::cos(3.0 * phi));
    const auto at_500 = static_cast<float>(265.0 - 28.0 * squared(std::sin(phi)));
    return [&, pressure, at_500](std::size_t point) {
      at(sample, point, Variable::kPsl) = pressure + 500.0F * first_[point];
      at(sample, point, Variable::kT500) = at_500 + 1.5F * second_[point];
    };
  });
  draw_pair();  // g4, g5
  for_each_point([&](double latitude) {
    const double phi = in_radians(latitude);
    const auto at_200 = static_cast<float>(218.0 + 4.0 * std::cos(2.0 * phi));
    const auto high = static_cast<float>(11800.0 + 400.0 * std::cos(phi));
    return [&, at_200, high](std::size_t point) {
      at(sample, point, Variable::kT200) = at_200 + 1.5F * first_[point];
      at(sample, point, Variable::kZ200) = high + 80.0F * first_[point];
      at(sample, point, Variable::kPrect) =
          4e-10F * at(sample, point, Variable::kTmq) * std::exp(0.5F * second_[point]);
    };
  });
  draw_pair();  // g6, g7
  for_each_point([&](double latitude) {
    const auto surface = static_cast<float>(300.0 - 50.0 * squared(std::sin(in_radians(latitude))));
    return [&, surface](std::size_t point) {
      at(sample, point, Variable::kTs) = surface + 1.5F * first_[point];
      at(sample, point, Variable::kTrefht) = -1.5F + 0.5F * second_[point];
      at(sample, point, Variable::kPs) = -600.0F * std::max(second_[point], 0.0F);  // mountains
    };
  });
  draw_pair();  // g8, g9
  for_each_point([&](double /*latitude*/) {
    return [&](std::size_t point) {
      at(sample, point, Variable::kUbot) = first_[point];
      at(sample, point, Variable::kVbot) = second_[point];
    };
  });
}

}  // namespace deepcam

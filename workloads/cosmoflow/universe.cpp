// Simulated universes: particle counts at four redshifts, and the cosmology that determines them.
#include "workloads/cosmoflow/universe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"

namespace cosmoflow {
namespace {

/// The purpose of a universe's random numbers; enters the hash.
enum class Use : std::uint64_t { kTargets, kNoise };

std::uint64_t stream_of(std::uint64_t universe, Use use) {
  return base::chain({static_cast<std::uint64_t>(use)}, universe);
}

double checked(double voxel) {
  if (voxel >= Simulator::kLeastVoxel && voxel <= Simulator::kMostVoxel) return voxel;
  throw base::Error(base::ExitCode::kInternal,
                    fmt::format("Simulator: voxel must be {} to {} Mpc/h, got {}",
                                Simulator::kLeastVoxel, Simulator::kMostVoxel, voxel));
}

/// Rounds to the nearest integer, halves upwards.
std::int32_t rounded(float value) {
  const float raised = value + 0.5F;
  const auto toward_zero = static_cast<std::int32_t>(raised);
  return toward_zero - (static_cast<float>(toward_zero) > raised ? 1 : 0);
}

}  // namespace

Simulator::Simulator(std::int64_t cells, double voxel)
    : waves_(cells, checked(voxel)), fourier_(cells), modes_(cells), across_(cells), along_(cells) {
  for (std::int64_t i = 0; i < cells; ++i) {
    slopes_.push_back(i == cells / 2 ? 0.0F : static_cast<float>(waves_.frequency(i)));
  }
}

std::int64_t Simulator::scratch_bytes(std::int64_t cells) {
  constexpr std::int64_t kCubes = 3, kParts = 2, kFloatBytes = 4;
  return cells * cells * cells * kCubes * kParts * kFloatBytes;
}

dataset::Universe Simulator::draw(std::uint64_t seed, SampleSet set, std::int64_t index) {
  const std::uint64_t universe =
      base::chain({seed, static_cast<std::uint64_t>(set), static_cast<std::uint64_t>(index)});
  std::array<float, 4> targets{};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double share = base::uniform_of(base::chain({i}, stream_of(universe, Use::kTargets)));
    targets[i] = static_cast<float>(2.0 * share - 1.0);
  }
  return evolve(targets, stream_of(universe, Use::kNoise));
}

dataset::Universe Simulator::evolve(const std::array<float, 4>& targets, std::uint64_t stream) {
  const Cosmology cosmology = cosmology_of(targets);
  const PowerSpectrum spectrum(cosmology);
  draw_linear_field(waves_, spectrum, stream, fourier_, modes_);

  dataset::Universe universe;
  universe.extents.fill(waves_.cells());
  universe.channels = static_cast<std::int64_t>(kRedshifts.size());
  universe.counts.resize(modes_.re.size() * kRedshifts.size());
  universe.targets = targets;
  // One complex transform yields two real fields, so two redshifts share the transform of the last
  // axis.
  for (std::size_t channel = 0; channel < kRedshifts.size(); channel += 2) {
    const auto now = factors_at(kRedshifts[channel], cosmology.omega_m, spectrum);
    const auto then = factors_at(kRedshifts[channel + 1], cosmology.omega_m, spectrum);
    displace({2, now}, {2, then}, along_);
    displace({0, now}, {1, now}, across_);
    count({across_.re.data(), across_.im.data(), along_.re.data()}, channel, universe);
    displace({0, then}, {1, then}, across_);
    count({across_.re.data(), across_.im.data(), along_.im.data()}, channel + 1, universe);
  }
  return universe;
}

/// Factors, by squared frequencies, that turn a mode times its frequency along an axis into the
/// displacement along that axis in voxels, apart from a factor of i: psi_k = i k / k^2 delta_k, and
/// Fourier::inverse() does not divide by the number of voxels.
std::vector<float> Simulator::factors_at(double redshift, double omega_m,
                                         const PowerSpectrum& spectrum) const {
  const double grown = growth(omega_m, redshift);
  const double limit = spectrum.nonlinear_wave_number(grown);
  const double voxels = static_cast<double>(modes_.re.size());
  std::vector<float> factors = {0.0F};  // the mean density displaces nothing
  for (std::int64_t squares = 1; squares <= waves_.most_squares(); ++squares) {
    const double ratio = waves_.wave_number(squares) / limit;
    const double scale = waves_.step() * waves_.voxel() * static_cast<double>(squares) * voxels;
    factors.push_back(static_cast<float>(grown * std::exp(-0.5 * ratio * ratio) / scale));
  }
  return factors;
}

/// Leaves the first component in the real part of `fields` and the second in the imaginary part.
void Simulator::displace(const Component& first, const Component& second, ComplexCube& fields) {
  for_each_wave(waves_, [&](std::size_t at, std::size_t a, std::size_t b, std::size_t c,
                            std::size_t squares) {
    const std::size_t index[] = {a, b, c};
    const float one = slopes_[index[first.axis]] * first.factors[squares];
    const float two = slopes_[index[second.axis]] * second.factors[squares];
    // (one + i two) * i * mode
    fields.re[at] = -two * modes_.re[at] - one * modes_.im[at];
    fields.im[at] = one * modes_.re[at] - two * modes_.im[at];
  });
  fourier_.inverse(fields);
}

/// Counts cannot overflow int16: the truncation of the displacement keeps particles from gathering.
void Simulator::count(const std::array<const float*, 3>& displacement, std::size_t channel,
                      dataset::Universe& universe) const {
  const auto cells = static_cast<std::int32_t>(waves_.cells());
  const auto place = [&](std::int32_t start, std::size_t axis, std::size_t particle) {
    return static_cast<std::size_t>((start + rounded(displacement[axis][particle])) & (cells - 1));
  };
  const auto side = static_cast<std::size_t>(cells);
  std::size_t particle = 0;
  for (std::int32_t a = 0; a < cells; ++a) {
    for (std::int32_t b = 0; b < cells; ++b) {
      for (std::int32_t c = 0; c < cells; ++c, ++particle) {
        const std::size_t voxel =
            (place(a, 0, particle) * side + place(b, 1, particle)) * side + place(c, 2, particle);
        ++universe.counts[voxel * kRedshifts.size() + channel];
      }
    }
  }
}

dataset::Universe cut_cube(const dataset::Universe& box, std::int64_t cells, std::int64_t number) {
  const std::int64_t in_row = box.extents[2] / cells, in_column = box.extents[1] / cells;
  const std::int64_t first_a = number / (in_row * in_column) * cells;
  const std::int64_t first_b = number / in_row % in_column * cells;
  const std::int64_t first_c = number % in_row * cells;
  dataset::Universe cube;
  cube.extents.fill(cells);
  cube.channels = box.channels;
  cube.targets = box.targets;
  cube.counts.reserve(static_cast<std::size_t>(cells * cells * cells * box.channels));
  for (std::int64_t a = first_a; a < first_a + cells; ++a) {
    for (std::int64_t b = first_b; b < first_b + cells; ++b) {
      const auto row =
          box.counts.begin() + ((a * box.extents[1] + b) * box.extents[2] + first_c) * box.channels;
      cube.counts.insert(cube.counts.end(), row, row + cells * box.channels);
    }
  }
  return cube;
}

}  // namespace cosmoflow

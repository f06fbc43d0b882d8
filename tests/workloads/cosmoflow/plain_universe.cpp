// A reference implementation of the simulator: plain loops in double precision.
#include "workloads/cosmoflow/plain_universe.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "runner/base/hash_chain.h"
#include "workloads/cosmoflow/cosmology.h"

namespace cosmoflow {
namespace {

/// The box of one call of plain_universe().
class PlainBox {
 public:
  PlainBox(std::int64_t cells, double voxel, const std::array<float, 4>& targets)
      : cells_(cells), voxel_(voxel), cosmology_(cosmology_of(targets)), spectrum_(cosmology_) {}

  PlainCube linear_modes(std::uint64_t stream) const {
    PlainCube noise;
    for (std::uint64_t at = 0; at < voxels(); ++at) {
      noise.emplace_back(base::normal_of(base::chain({stream, at})));
    }
    PlainCube modes = plain_fourier(noise, cells_, -1);
    for (std::size_t at = 0; at < modes.size(); ++at) {
      modes[at] *= std::sqrt(spectrum_(length(at)) / (voxel_ * voxel_ * voxel_));
    }
    return modes;
  }

  /// In Mpc/h, at every voxel.
  PlainCube displacement(const PlainCube& modes, int axis, double grown) const {
    const double limit = spectrum_.nonlinear_wave_number(grown);
    PlainCube psi(modes.size());
    for (std::size_t at = 1; at < modes.size(); ++at) {
      if (index(at)[static_cast<std::size_t>(axis)] == cells_ / 2) continue;
      const double k = length(at), component = wave(at)[static_cast<std::size_t>(axis)];
      psi[at] = std::complex<double>(0.0, component / (k * k)) * modes[at] *
                std::exp(-k * k / (2.0 * limit * limit)) / static_cast<double>(voxels());
    }
    return plain_fourier(psi, cells_, 1);
  }

  void count(const PlainCube& modes, double redshift, std::size_t channel,
             std::vector<std::int16_t>& counts) const {
    const double grown = growth(cosmology_.omega_m, redshift);
    const PlainCube moved[] = {displacement(modes, 0, grown), displacement(modes, 1, grown),
                               displacement(modes, 2, grown)};
    for (std::size_t at = 0; at < modes.size(); ++at) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double x =
            static_cast<double>(index(at)[axis]) + grown * moved[axis][at].real() / voxel_;
        const auto nearest = static_cast<std::int64_t>(std::floor(x + 0.5));
        place = place * cells_ + (nearest % cells_ + cells_) % cells_;
      }
      ++counts[static_cast<std::size_t>(place) * 4 + channel];
    }
  }

  std::size_t voxels() const { return static_cast<std::size_t>(cells_ * cells_ * cells_); }

 private:
  std::array<std::int64_t, 3> index(std::size_t at) const {
    const auto place = static_cast<std::int64_t>(at);
    return {place / (cells_ * cells_), place / cells_ % cells_, place % cells_};
  }
  std::array<double, 3> wave(std::size_t at) const {
    std::array<double, 3> k{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t i = index(at)[axis];
      k[axis] = 2.0 * std::numbers::pi * static_cast<double>(i <= cells_ / 2 ? i : i - cells_) /
                (static_cast<double>(cells_) * voxel_);
    }
    return k;
  }
  double length(std::size_t at) const {
    const auto k = wave(at);
    return std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
  }

  std::int64_t cells_;
  double voxel_;
  Cosmology cosmology_;
  PowerSpectrum spectrum_;
};

}  // namespace

PlainCube plain_fourier(const PlainCube& cube, std::int64_t cells, int sign) {
  const auto side = static_cast<std::size_t>(cells);
  PlainCube from = cube, to(cube.size());
  for (std::size_t stride = 1; stride < cube.size(); stride *= side) {  // one axis at a time
    for (std::size_t at = 0; at < cube.size(); ++at) {
      const std::size_t k = at / stride % side;
      std::complex<double> sum = 0.0;
      for (std::size_t x = 0; x < side; ++x) {
        const double turns = static_cast<double>(k * x % side) / static_cast<double>(side);
        sum += from[at - k * stride + x * stride] *
               std::polar(1.0, sign * 2.0 * std::numbers::pi * turns);
      }
      to[at] = sum;
    }
    from = to;
  }
  return from;
}

std::vector<std::int16_t> plain_universe(std::int64_t cells, double voxel,
                                         const std::array<float, 4>& targets,
                                         std::uint64_t stream) {
  const PlainBox box(cells, voxel, targets);
  const PlainCube modes = box.linear_modes(stream);
  std::vector<std::int16_t> counts(box.voxels() * 4);
  const double redshifts[] = {0.0, 0.5, 1.5, 3.0};
  for (std::size_t channel = 0; channel < 4; ++channel) {
    box.count(modes, redshifts[channel], channel, counts);
  }
  return counts;
}

}  // namespace cosmoflow

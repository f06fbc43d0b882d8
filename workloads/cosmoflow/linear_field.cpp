// A Gaussian random field of a given power spectrum: the initial density of a universe.
#include "workloads/cosmoflow/linear_field.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runner/base/hash_chain.h"

namespace cosmoflow {

Waves::Waves(std::int64_t cells, double voxel)
    : cells_(cells),
      voxel_(voxel),
      step_(2.0 * std::numbers::pi / (static_cast<double>(cells) * voxel)) {}

std::int64_t Waves::frequency(std::int64_t index) const {
  return index <= cells_ / 2 ? index : index - cells_;
}

double Waves::wave_number(std::int64_t squares) const {
  return step_ * std::sqrt(static_cast<double>(squares));
}

void draw_linear_field(const Waves& waves, const PowerSpectrum& spectrum, std::uint64_t stream,
                       Fourier& fourier, ComplexCube& modes) {
  const std::uint64_t begun = base::chain({stream});
  for (std::size_t at = 0; at < modes.re.size(); ++at) {
    modes.re[at] = static_cast<float>(base::normal_of(base::chain({at}, begun)));
  }
  std::fill(modes.im.begin(), modes.im.end(), 0.0F);
  fourier.forward(modes);

  const double volume = waves.voxel() * waves.voxel() * waves.voxel();
  std::vector<float> sizes;
  for (std::int64_t squares = 0; squares <= waves.most_squares(); ++squares) {
    const double power = spectrum(waves.wave_number(squares));
    sizes.push_back(static_cast<float>(std::sqrt(power / volume)));
  }
  for_each_wave(waves,
                [&](std::size_t at, std::size_t, std::size_t, std::size_t, std::size_t squares) {
                  modes.re[at] *= sizes[squares];
                  modes.im[at] *= sizes[squares];
                });
}

}  // namespace cosmoflow

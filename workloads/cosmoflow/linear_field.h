// A Gaussian random field of a given power spectrum: the initial density of a universe.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/cosmoflow/cosmology.h"
#include "workloads/cosmoflow/fourier.h"

namespace cosmoflow {

/// The waves of a periodic box of `cells`^3 voxels of `voxel` Mpc/h. The wave of index [a, b, c]
/// has the wave vector step() * (frequency(a), frequency(b), frequency(c)).
class Waves {
 public:
  Waves(std::int64_t cells, double voxel);
  std::int64_t cells() const { return cells_; }
  double voxel() const { return voxel_; }
  double step() const { return step_; }  ///< in h/Mpc
  /// From -cells / 2 + 1 to cells / 2.
  std::int64_t frequency(std::int64_t index) const;
  /// Upper bound of the sum of squared frequencies of a wave. The wave's length is
  /// step() * sqrt(that sum).
  std::int64_t most_squares() const { return 3 * (cells_ / 2) * (cells_ / 2); }
  double wave_number(std::int64_t squares) const;

 private:
  std::int64_t cells_;
  double voxel_, step_;
};

/// Fills `modes` with the Fourier transform of the linear density contrast today:
/// delta_k = sqrt(P(k) / voxel^3) * forward(n), where n(x) ~ N(0, 1) is white noise that depends
/// only on `stream` and the voxel. So the mean of |delta_k|^2 voxel^3 / cells^3 is P(k).
void draw_linear_field(const Waves& waves, const PowerSpectrum& spectrum, std::uint64_t stream,
                       Fourier& fourier, ComplexCube& modes);

/// Calls use(at, a, b, c, squares) for each wave in the order of a cube of modes. `at`: its
/// position; `squares`: the sum of its squared frequencies.
template <class Use>
void for_each_wave(const Waves& waves, const Use& use) {
  const std::int64_t cells = waves.cells();
  std::vector<std::int64_t> square(static_cast<std::size_t>(cells));
  for (std::int64_t i = 0; i < cells; ++i) {
    square[static_cast<std::size_t>(i)] = waves.frequency(i) * waves.frequency(i);
  }
  std::size_t at = 0;
  for (std::size_t a = 0; a < square.size(); ++a) {
    for (std::size_t b = 0; b < square.size(); ++b) {
      const std::int64_t row = square[a] + square[b];
      for (std::size_t c = 0; c < square.size(); ++c) {
        use(at++, a, b, c, static_cast<std::size_t>(row + square[c]));
      }
    }
  }
}

}  // namespace cosmoflow

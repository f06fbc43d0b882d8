// Simulated universes: particle counts at four redshifts, and the cosmology that determines them.
#pragma once

#include <array>
#include <cstdint>

#include "staging/dataset/universe.h"
#include "workloads/cosmoflow/linear_field.h"

namespace cosmoflow {

/// Sets of samples; the values enter the hash.
enum class SampleSet : std::uint64_t { kTrain, kValidation };

/// Redshift of each channel.
inline constexpr std::array<double, 4> kRedshifts = {0.0, 0.5, 1.5, 3.0};

/// Simulates periodic boxes with one particle per voxel. Particles follow the truncated Zel'dovich
/// approximation: x = q + D(z) psi(q), where the displacement psi satisfies delta = -div psi for
/// the linear density delta without its collapsed waves: psi_k is multiplied by exp(-k^2 / (2
/// k_nl^2)), with k_nl of the redshift. A universe is a pure function of the arguments: the same on
/// any thread, except for the last bits of the standard library's exp, log and cos. Holds scratch
/// memory: each thread needs its own.
/// Source: Coles, Melott & Shandarin, MNRAS 260 (1993) 765.
class Simulator {
 public:
  static constexpr double kLeastVoxel = 0.01, kMostVoxel = 100.0;
  /// cells: as for Fourier. voxel: Mpc/h, from kLeastVoxel to kMostVoxel. Throws Error(kInternal)
  /// for other values.
  Simulator(std::int64_t cells, double voxel);
  /// Memory of one Simulator in bytes, without the universe that it returns.
  static std::int64_t scratch_bytes(std::int64_t cells);
  /// Draws the targets, uniform in [-1, 1) and independent, and the noise, and evolves the
  /// universe.
  dataset::Universe draw(std::uint64_t seed, SampleSet set, std::int64_t index);
  /// The universe of cosmology_of(targets) with the initial noise of `stream`: the number of
  /// particles nearest to each voxel, [cells, cells, cells, kRedshifts]. Every channel sums to
  /// cells^3.
  dataset::Universe evolve(const std::array<float, 4>& targets, std::uint64_t stream);

 private:
  /// One component of the displacement: along `axis`, truncated and scaled by `factors`.
  struct Component {
    std::size_t axis;
    const std::vector<float>& factors;  ///< indexed by the sum of squared frequencies
  };
  std::vector<float> factors_at(double redshift, double omega_m,
                                const PowerSpectrum& spectrum) const;
  void displace(const Component& first, const Component& second, ComplexCube& fields);
  void count(const std::array<const float*, 3>& displacement, std::size_t channel,
             dataset::Universe& universe) const;

  Waves waves_;
  Fourier fourier_;
  std::vector<float> slopes_;  ///< by index along an axis: frequency; 0 for the Nyquist one
  ComplexCube modes_, across_, along_;
};

/// Cuts cube `number` of `cells`^3 voxels out of a box, keeping the box's targets. Cubes are
/// numbered with the last axis fastest. `cells` divides the box's extents.
dataset::Universe cut_cube(const dataset::Universe& box, std::int64_t cells, std::int64_t number);

}  // namespace cosmoflow

// Universes to learn from: counts of particles at four times, and the cosmology behind them.
// Hides random fields, transforms, and how particles move.
#pragma once

#include <array>
#include <cstdint>

#include "staging/dataset/universe.h"
#include "workloads/cosmoflow/linear_field.h"

namespace cosmoflow {

/// Sets of samples: the values enter the hash.
enum class SampleSet : std::uint64_t { kTrain, kValidation };

/// Of the channels.
inline constexpr std::array<double, 4> kRedshifts = {0.0, 0.5, 1.5, 3.0};

/// Simulates periodic boxes with one particle per voxel, which follow the truncated Zel'dovich
/// approximation: x = q + D(z) psi(q), where the displacement psi has delta = -div psi for the
/// linear density delta, less its waves that collapsed: psi_k is cut by exp(-k^2 / (2 k_nl^2)) of
/// the redshift. A universe is a pure function of what is asked for: the same on any thread, but
/// for the last bits of the standard library's exp, log and cos. Holds scratch memory: each thread
/// needs its own.
/// Source: Coles, Melott & Shandarin, MNRAS 260 (1993) 765.
class Simulator {
 public:
  static constexpr double kLeastVoxel = 0.01, kMostVoxel = 100.0;
  /// cells: as Fourier has it. voxel: Mpc/h, from kLeastVoxel to kMostVoxel. Else throws
  /// Error(kInternal).
  Simulator(std::int64_t cells, double voxel);
  /// Of one Simulator, without the universe that it returns.
  static std::int64_t scratch_bytes(std::int64_t cells);
  /// Targets are uniform in [-1, 1) and independent.
  dataset::Universe draw(std::uint64_t seed, SampleSet set, std::int64_t index);
  /// The universe of cosmology_of(targets) that began with the noise of `stream`: particles in
  /// each voxel, [cells, cells, cells, kRedshifts], counted where they are nearest to. Every
  /// channel sums to cells^3.
  dataset::Universe evolve(const std::array<float, 4>& targets, std::uint64_t stream);

 private:
  /// One component of the displacement: along `axis`, cut and scaled by `factors`.
  struct Component {
    std::size_t axis;
    const std::vector<float>& factors;  ///< by squares
  };
  std::vector<float> factors_at(double redshift, double omega_m,
                                const PowerSpectrum& spectrum) const;
  void displace(const Component& first, const Component& second, ComplexCube& fields);
  void count(const std::array<const float*, 3>& displacement, std::size_t channel,
             dataset::Universe& universe) const;

  Waves waves_;
  Fourier fourier_;
  std::vector<float> slopes_;  ///< frequencies along an axis; 0 for the one that has no sign
  ComplexCube modes_, across_, along_;
};

/// The cube of `cells`^3 voxels of a box, with the box's targets; cubes are numbered with the last
/// axis running fastest. `cells` divides the box's extents.
dataset::Universe cut_cube(const dataset::Universe& box, std::int64_t cells, std::int64_t number);

}  // namespace cosmoflow

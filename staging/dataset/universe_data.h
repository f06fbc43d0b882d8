// One sample of the CosmoFlow benchmark: a universe's particle counts and the parameters of its
// cosmology.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace dataset {

/// Particle counts in voxels at four redshifts, and the cosmology's parameters.
struct Universe {
  std::array<std::int64_t, 3> extents{};  ///< D, H, W
  std::int64_t channels = 0;
  std::vector<std::int16_t> counts;  ///< [D, H, W, channels]
  std::array<float, 4> targets{};    ///< Omega_m, sigma_8, n_s, H_0, each scaled to [-1, 1]
};

/// The expected shape of a sample.
struct UniverseShape {
  std::array<std::int64_t, 3> extents{};  ///< D, H, W
  std::int64_t channels = 4;
};

/// A box of a sample: planes [first, first + count) of each axis, all channels.
struct UniverseRegion {
  std::array<std::int64_t, 3> first{}, count{};
};

}  // namespace dataset

// A reference implementation of the simulator: plain loops in double precision.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

namespace cosmoflow {

using PlainCube = std::vector<std::complex<double>>;

/// y[k] = sum over x of e^(sign 2 pi i k.x / N) cube[x], for cubes [N, N, N].
PlainCube plain_fourier(const PlainCube& cube, std::int64_t cells, int sign);

/// The counts of Simulator::evolve(), [cells, cells, cells, 4].
std::vector<std::int16_t> plain_universe(std::int64_t cells, double voxel,
                                         const std::array<float, 4>& targets, std::uint64_t stream);

}  // namespace cosmoflow

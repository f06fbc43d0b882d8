// Tests of the transforms of a cube against plain sums.
#include "workloads/cosmoflow/fourier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "runner/base/thrown_message.h"
#include "workloads/cosmoflow/plain_universe.h"

namespace cosmoflow {
namespace {

ComplexCube noise(std::int64_t cells) {
  ComplexCube cube(cells);
  for (std::size_t at = 0; at < cube.re.size(); ++at) {
    cube.re[at] = static_cast<float>(base::normal_of(base::chain({at, 0})));
    cube.im[at] = static_cast<float>(base::normal_of(base::chain({at, 1})));
  }
  return cube;
}

PlainCube plain(const ComplexCube& cube) {
  PlainCube values;
  for (std::size_t at = 0; at < cube.re.size(); ++at) values.emplace_back(cube.re[at], cube.im[at]);
  return values;
}

/// The largest difference, in units of the rounding error to be expected for white noise: epsilon
/// per value and pass, for sums of N^3 values of standard deviation sqrt(2).
double worst(const ComplexCube& found, const PlainCube& expected) {
  const PlainCube values = plain(found);
  double most = 0.0;
  for (std::size_t at = 0; at < expected.size(); ++at) {
    most = std::max(most, std::abs(values[at] - expected[at]));
  }
  return most / (std::sqrt(2.0 * static_cast<double>(expected.size())) * 0x1p-23);
}

TEST(Fourier, AgreesWithPlainSums) {
  for (const std::int64_t cells : {8, 16}) {  // 16: passes by four only; 8: with a last pass by two
    const ComplexCube start = noise(cells);
    Fourier fourier(cells);
    ComplexCube forward = start, inverse = start;
    fourier.forward(forward);
    fourier.inverse(inverse);
    EXPECT_LT(worst(forward, plain_fourier(plain(start), cells, -1)), 8.0) << cells;
    EXPECT_LT(worst(inverse, plain_fourier(plain(start), cells, 1)), 8.0) << cells;
  }
}

TEST(Fourier, FindsEveryWaveOfLargerCubes) {
  for (const std::int64_t cells : {32, 64, 128}) {
    Fourier fourier(cells);
    ComplexCube cube(cells);
    const std::int64_t k[] = {3, cells - 5, cells / 2 + 1};
    const std::int64_t at = (k[0] * cells + k[1]) * cells + k[2];
    cube.re[static_cast<std::size_t>(at)] = 1.0F;
    fourier.inverse(cube);
    for (std::int64_t x = 0; x < cells * cells * cells; x += 37) {
      const std::int64_t phase =
          k[0] * (x / (cells * cells)) + k[1] * (x / cells % cells) + k[2] * (x % cells);
      const auto expected =
          std::polar(1.0, 2.0 * std::numbers::pi * static_cast<double>(phase % cells) /
                              static_cast<double>(cells));
      const auto i = static_cast<std::size_t>(x);
      ASSERT_NEAR(cube.re[i], expected.real(), 1e-6) << cells << " " << x;
      ASSERT_NEAR(cube.im[i], expected.imag(), 1e-6) << cells << " " << x;
    }
  }
}

TEST(Fourier, ComesBackWhenInverted) {
  for (const std::int64_t cells : {8, 16, 32, 64}) {
    const ComplexCube start = noise(cells);
    ComplexCube cube = start;
    Fourier fourier(cells);
    fourier.forward(cube);
    fourier.inverse(cube);
    const auto voxels = static_cast<float>(cells * cells * cells);
    for (std::size_t at = 0; at < start.re.size(); ++at) {
      ASSERT_NEAR(cube.re[at] / voxels, start.re[at], 4e-6);
      ASSERT_NEAR(cube.im[at] / voxels, start.im[at], 4e-6);
    }
  }
}

TEST(Fourier, RefusesOtherSizes) {
  for (const std::int64_t cells : {0, 4, 24, 1024, -8}) {
    EXPECT_THAT(base::thrown_message<base::Error>([&] { Fourier fourier(cells); }),
                testing::HasSubstr("must be a power of 2 from 8 to 512"));
  }
}

}  // namespace
}  // namespace cosmoflow

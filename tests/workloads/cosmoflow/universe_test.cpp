// Tests of simulated universes: spectra, growth, statistics, and reproducibility.
#include "workloads/cosmoflow/universe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/cosmoflow/plain_universe.h"

namespace cosmoflow {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::array<float, 4> kMiddle{};

/// Sums of counts, by channel.
std::array<std::int64_t, 4> sums(const dataset::Universe& universe) {
  std::array<std::int64_t, 4> sums{};
  for (std::size_t i = 0; i < universe.counts.size(); ++i) sums[i % 4] += universe.counts[i];
  return sums;
}

TEST(LinearField, HasTheSpectrumThatWasAskedFor) {
  constexpr std::int64_t kCells = 32;
  constexpr int kUniverses = 40;
  const Waves waves(kCells, 4.0);
  const PowerSpectrum spectrum(Cosmology{});
  Fourier fourier(kCells);
  ComplexCube modes(kCells);
  std::map<std::int64_t, double> ratios, counts;  // by wave number, rounded to whole steps
  for (int i = 0; i < kUniverses; ++i) {
    draw_linear_field(waves, spectrum, static_cast<std::uint64_t>(i), fourier, modes);
    for_each_wave(waves, [&](std::size_t at, auto, auto, auto, std::size_t squares) {
      const double k = waves.wave_number(static_cast<std::int64_t>(squares));
      if (squares == 0 || k > waves.step() * kCells / 2) return;
      const double power = std::pow(std::hypot(modes.re[at], modes.im[at]) * 8.0, 2) /
                           static_cast<double>(modes.re.size());
      ratios[std::llround(k / waves.step())] += power / spectrum(k);
      counts[std::llround(k / waves.step())] += 1.0;
    });
  }
  for (const auto& [bin, count] : counts) {
    // A wave and its mirror image are one draw of exponentially distributed power: standard
    // deviation 1.
    const double deviation = std::sqrt(2.0 / count);
    EXPECT_NEAR(ratios[bin] / count, 1.0, 4.0 * deviation) << bin;
  }
  EXPECT_EQ(counts.size(), 16u);
}

TEST(LinearField, IsRealAndHasNoMean) {
  const Waves waves(16, 4.0);
  Fourier fourier(16);
  ComplexCube field(16);
  draw_linear_field(waves, PowerSpectrum(Cosmology{}), 3, fourier, field);
  EXPECT_EQ(field.re[0], 0.0F);
  fourier.inverse(field);
  double squared = 0.0;
  for (const float value : field.re) squared += value * value;
  const double deviation = std::sqrt(squared / 4096.0);
  EXPECT_GT(deviation, 1.0);
  for (const float value : field.im) ASSERT_NEAR(value, 0.0, 1e-5 * deviation);
}

TEST(Simulator, AgreesWithPlainFormulas) {
  Simulator simulator(8, 4.0);
  const std::array<float, 4> others[] = {kMiddle, {-0.9F, 0.7F, 0.4F, -0.2F}};
  for (const auto& targets : others) {
    for (std::uint64_t stream = 0; stream < 3; ++stream) {
      EXPECT_EQ(simulator.evolve(targets, stream).counts, plain_universe(8, 4.0, targets, stream));
    }
  }
  EXPECT_EQ(Simulator(16, 1.5).evolve(kMiddle, 9).counts, plain_universe(16, 1.5, kMiddle, 9));
}

TEST(Simulator, LosesNoParticle) {
  for (const std::int64_t cells : {8, 16, 32, 64}) {
    Simulator simulator(cells, 128.0 / static_cast<double>(cells));
    const dataset::Universe universe = simulator.draw(1, SampleSet::kTrain, 5);
    EXPECT_EQ(universe.extents, (std::array<std::int64_t, 3>{cells, cells, cells}));
    EXPECT_EQ(universe.channels, 4);
    EXPECT_THAT(sums(universe), Each(cells * cells * cells));
    EXPECT_THAT(universe.counts, Each(testing::Ge(0)));
  }
}

/// For long waves, the counts must be the linear density, scaled by growth: their share is
/// measured.
TEST(Simulator, GrowsLongWavesAsLinearTheorySays) {
  constexpr std::int64_t kCells = 64;
  Simulator simulator(kCells, 2.0);
  const Waves waves(kCells, 2.0);
  Fourier fourier(kCells);
  ComplexCube linear(kCells), counted(kCells);
  std::array<double, 4> common{}, squared{};
  for (std::uint64_t stream = 0; stream < 10; ++stream) {
    draw_linear_field(waves, PowerSpectrum(Cosmology{}), stream, fourier, linear);
    const dataset::Universe universe = simulator.evolve(kMiddle, stream);
    for (std::size_t channel = 0; channel < 4; ++channel) {
      for (std::size_t i = 0; i < counted.re.size(); ++i) {
        counted.re[i] = universe.counts[4 * i + channel];
        counted.im[i] = 0.0F;
      }
      fourier.forward(counted);
      for_each_wave(waves, [&](std::size_t at, auto, auto, auto, std::size_t squares) {
        if (squares == 0 || squares > 3) return;
        common[channel] += counted.re[at] * linear.re[at] + counted.im[at] * linear.im[at];
        squared[channel] += linear.re[at] * linear.re[at] + linear.im[at] * linear.im[at];
      });
    }
  }
  for (std::size_t channel = 0; channel < 4; ++channel) {
    // The grid and higher orders change it by a few percent.
    EXPECT_NEAR(common[channel] / squared[channel] / growth(0.3, kRedshifts[channel]), 1.0, 0.08)
        << channel;
  }
}

/// Known shares of empty voxels, and known variances, for universes with sigma_8 = 1.
TEST(Simulator, ClumpsAsMuchAsIsKnown) {
  constexpr std::uint64_t kUniverses = 40;
  Simulator simulator(32, 4.0);
  std::array<double, 4> empty{}, variance{};
  std::int16_t most = 0;
  for (std::uint64_t stream = 0; stream < kUniverses; ++stream) {
    const dataset::Universe universe = simulator.evolve({0.0F, 0.2F / 0.24F, 0.0F, 0.0F}, stream);
    for (std::size_t i = 0; i < universe.counts.size(); ++i) {
      const std::int16_t count = universe.counts[i];
      empty[i % 4] += count == 0 ? 1.0 : 0.0;
      variance[i % 4] += (count - 1) * (count - 1);
      most = std::max(most, count);
    }
  }
  const double known_empty[] = {0.41, 0.40, 0.35, 0.26};
  const double known_variance[] = {2.3, 1.9, 1.3, 0.75};
  for (std::size_t channel = 0; channel < 4; ++channel) {
    const double voxels = kUniverses * 32.0 * 32.0 * 32.0;
    // They are known to two digits; single universes deviate by at most 0.02 and 8%.
    EXPECT_NEAR(empty[channel] / voxels, known_empty[channel], 0.01) << channel;
    EXPECT_NEAR(variance[channel] / voxels / known_variance[channel], 1.0, 0.05) << channel;
  }
  EXPECT_LT(most, 200);
}

TEST(Simulator, DrawsAUniverseFromItsKeysAlone) {
  Simulator first(16, 8.0), second(16, 8.0);
  const dataset::Universe universe = first.draw(7, SampleSet::kTrain, 3);
  second.draw(7, SampleSet::kTrain, 2);  // earlier draws have no influence
  const dataset::Universe again = second.draw(7, SampleSet::kTrain, 3);
  EXPECT_EQ(again.counts, universe.counts);
  EXPECT_EQ(again.targets, universe.targets);
  for (const dataset::Universe& other :
       {first.draw(8, SampleSet::kTrain, 3), first.draw(7, SampleSet::kValidation, 3),
        first.draw(7, SampleSet::kTrain, 4)}) {
    EXPECT_NE(other.counts, universe.counts);
    EXPECT_NE(other.targets, universe.targets);
  }
}

TEST(Simulator, DrawsTargetsUniformly) {
  constexpr int kUniverses = 1000;
  Simulator simulator(8, 16.0);
  std::array<double, 4> mean{}, squared{};
  double product = 0.0;
  for (int i = 0; i < kUniverses; ++i) {
    const auto targets = simulator.draw(1, SampleSet::kTrain, i).targets;
    for (std::size_t t = 0; t < 4; ++t) {
      ASSERT_GE(targets[t], -1.0F);
      ASSERT_LE(targets[t], 1.0F);
      mean[t] += targets[t] / kUniverses;
      squared[t] += targets[t] * targets[t] / kUniverses;
    }
    product += targets[0] * targets[1] / kUniverses;
  }
  for (std::size_t t = 0; t < 4; ++t) {  // four deviations of means of 1000 uniform numbers
    EXPECT_NEAR(mean[t], 0.0, 4.0 * std::sqrt(1.0 / 3.0 / kUniverses));
    EXPECT_NEAR(squared[t], 1.0 / 3.0, 4.0 * std::sqrt(4.0 / 45.0 / kUniverses));
  }
  EXPECT_NEAR(product, 0.0, 4.0 / 3.0 / std::sqrt(kUniverses));
}

TEST(Simulator, RefusesSizesThatItCannotDo) {
  EXPECT_THAT(base::thrown_message<base::Error>([] { Simulator simulator(12, 4.0); }),
              HasSubstr("power of 2"));
  for (const double voxel : {0.0, -4.0, 1e6, std::nan("")}) {
    EXPECT_THAT(base::thrown_message<base::Error>([&] { Simulator simulator(8, voxel); }),
                HasSubstr("voxel must be 0.01 to 100"));
  }
}

TEST(Simulator, StandsVoxelsOfAllowedExtremes) {
  for (const double voxel : {0.01, 100.0}) {
    const dataset::Universe universe = Simulator(8, voxel).evolve(kMiddle, 1);
    EXPECT_THAT(sums(universe), Each(512));
  }
}

TEST(CutCube, TilesTheBox) {
  const dataset::Universe box = Simulator(16, 4.0).draw(1, SampleSet::kTrain, 0);
  dataset::Universe joined = box;
  std::fill(joined.counts.begin(), joined.counts.end(), std::int16_t{-1});
  for (std::int64_t number = 0; number < 8; ++number) {
    const dataset::Universe cube = cut_cube(box, 8, number);
    EXPECT_EQ(cube.targets, box.targets);
    EXPECT_EQ(cube.extents, (std::array<std::int64_t, 3>{8, 8, 8}));
    ASSERT_EQ(cube.counts.size(), 8u * 8 * 8 * 4);
    std::size_t at = 0;
    const std::int64_t a0 = number / 4 * 8, b0 = number / 2 % 2 * 8, c0 = number % 2 * 8;
    for (std::int64_t a = 0; a < 8; ++a) {
      for (std::int64_t b = 0; b < 8; ++b) {
        for (std::int64_t c = 0; c < 8; ++c) {
          const std::int64_t voxel = ((a0 + a) * 16 + b0 + b) * 16 + c0 + c;
          for (std::int64_t channel = 0; channel < 4; ++channel) {
            joined.counts[static_cast<std::size_t>(voxel * 4 + channel)] = cube.counts[at++];
          }
        }
      }
    }
  }
  EXPECT_EQ(joined.counts, box.counts);
}

}  // namespace
}  // namespace cosmoflow

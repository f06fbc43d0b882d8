// The gradient of the weights of windows of images in bfloat16 against plain sums in double
// precision.
// Hides nothing.
#include "workloads/nn/window_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/plain_bf16.h"

namespace {

using nn::Bf16;
using nn::WindowGradient;

bool has_bf16() { return base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16; }
const nn::Kernels& kernels() { return nn::kernels(base::usable_instruction_set()); }

std::vector<Bf16> noise(std::int64_t count, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  std::vector<Bf16> values(static_cast<std::size_t>(count));
  for (Bf16& value : values) {
    value = {plain::bf16_bits(static_cast<float>(random.uniform(-1.0, 1.0)))};
  }
  return values;
}

struct Case {
  WindowGradient::Shape shape;
  std::int64_t samples;
  int threads;
};

/// Of blocked activations: channel of a sample, at a point.
double at(const std::vector<Bf16>& all, std::int64_t channels, std::int64_t points,
          std::int64_t sample, std::int64_t channel, std::int64_t point) {
  const std::int64_t row = (sample * (channels / 16) + channel / 16) * points + point;
  return static_cast<double>(nn::as_float(all[static_cast<std::size_t>(row * 16 + channel % 16)]));
}

/// What a case is computed from.
struct Activations {
  const Case& c;
  std::int64_t from_points = c.shape.rows.from * c.shape.columns.from;
  std::int64_t to_points = c.shape.rows.to * c.shape.columns.to;
  std::vector<Bf16> from = noise(c.samples * c.shape.in * from_points, 1);
  std::vector<Bf16> to = noise(c.samples * c.shape.out * to_points, 2);

  /// Sum over samples and points, and of the sizes of its addends.
  std::pair<double, double> sums(std::int64_t out, std::int64_t in, std::int64_t tap) const {
    const auto& [rows, columns, ins, outs, pairs_samples] = c.shape;
    double sum = 0.0, size = 0.0;
    for (std::int64_t i = 0; i < c.samples * to_points; ++i) {
      const std::int64_t n = i / to_points, point = i % to_points;
      const std::int64_t y = point / columns.to * rows.stride + tap / columns.kernel - rows.padding;
      const std::int64_t x =
          point % columns.to * columns.stride + tap % columns.kernel - columns.padding;
      if (y < 0 || y >= rows.from || x < 0 || x >= columns.from) continue;
      const double product = at(to, outs, to_points, n, out, point) *
                             at(from, ins, from_points, n, in, y * columns.from + x);
      sum += product;
      size += std::abs(product);
    }
    return {sum, size};
  }
};

void expect_gradient(const Case& c) {
  const Activations given = {c};
  const WindowGradient gradient(c.shape, c.threads, kernels());
  const std::int64_t taps = c.shape.rows.kernel * c.shape.columns.kernel;
  std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
  std::vector<float> once(static_cast<std::size_t>(taps * c.shape.in * c.shape.out), 7.0F);
  const auto run = [&](std::vector<float>& weights, bool add) {
    gradient.run(given.from.data(), given.to.data(), c.samples, weights.data(), add,
                 scratch.data());
  };
  run(once, false);
  std::vector<float> twice = once;
  run(twice, true);
  for (std::int64_t out = 0; out < c.shape.out; ++out) {
    // Every third one of the others: the sums here are slow.
    for (std::int64_t i = out % 3; i < c.shape.in * taps; i += 3) {
      const std::int64_t in = i / taps, tap = i % taps;
      const std::int64_t tile = (out / 16 * (c.shape.in / 16) + in / 16) * taps + tap;
      const auto place = static_cast<std::size_t>((tile * 16 + in % 16) * 16 + out % 16);
      const auto [expected, size] = given.sums(out, in, tap);
      ASSERT_NEAR(static_cast<double>(once[place]), expected, 1e-6 * size)
          << out << ", " << in << ", tap " << tap;
      ASSERT_NEAR(static_cast<double>(twice[place]), 2.0 * expected, 3e-6 * size);
    }
  }
}

/// Windows as far as the last ones that begin within the image and its padding.
WindowGradient::Axis axis(std::int64_t from, std::int64_t kernel, std::int64_t stride,
                          std::int64_t begin, std::int64_t end) {
  return {from, (from + begin + end - kernel) / stride + 1, kernel, stride, begin};
}

TEST(WindowGradient, IsThePlainSum) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const Case cases[] = {
      {{axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1), 16, 64}, 11, 1},    // several samples a piece
      {{axis(6, 3, 1, 1, 1), axis(8, 3, 1, 1, 1), 32, 64}, 2, 2},     // even lines; by blocks
      {{axis(14, 3, 2, 0, 1), axis(14, 3, 2, 0, 1), 16, 128}, 3, 2},  // padded behind; by panels
      {{axis(9, 3, 2, 1, 1), axis(12, 3, 2, 1, 1), 16, 64}, 2, 1},    // on either side
      {{axis(30, 3, 1, 1, 1), axis(37, 3, 1, 1, 1), 16, 64}, 2, 1},   // strips of lines
      {{axis(4, 3, 1, 1, 1), axis(290, 3, 2, 0, 1), 16, 64}, 1, 1},   // a line is a piece
      {{axis(9, 1, 2, 0, 0), axis(11, 1, 2, 0, 0), 48, 64}, 5, 1},    // single taps
      {{axis(11, 5, 3, 2, 2), axis(13, 4, 3, 0, 0), 16, 64}, 2, 1},   // taps beyond steps
      {{axis(4, 7, 1, 3, 3), axis(3, 7, 1, 3, 3), 16, 64}, 2, 1},     // windows beyond the image
      {{{}, axis(21, 3, 2, 1, 1), 16, 64}, 3, 1},                     // lines
      {{axis(5, 2, 2, 0, 0), axis(5, 2, 2, 0, 0), 16, 64}, 1, 1},     // points that none meets
      {{axis(1, 3, 1, 1, 1), axis(1, 3, 1, 1, 1), 32, 64}, 70, 2}};   // one point
  for (const bool pairs_samples : {false, true}) {
    for (Case c : cases) {
      SCOPED_TRACE(testing::Message() << "lines of " << c.shape.columns.to << " points, "
                                      << c.samples << " samples, in pairs: " << pairs_samples);
      c.shape.pairs_samples = pairs_samples;
      expect_gradient(c);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WindowGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const WindowGradient::Shape shape = {axis(9, 3, 2, 0, 1), axis(9, 3, 2, 0, 1), 64, 64};
  const Activations given = {Case{shape, 3, 1}};
  std::vector<std::vector<float>> all;
  for (const int threads : {1, 2, 4}) {
    const WindowGradient gradient(shape, threads, kernels());
    std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
    all.emplace_back(static_cast<std::size_t>(9 * shape.in * shape.out));
    gradient.run(given.from.data(), given.to.data(), 3, all.back().data(), false, scratch.data());
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(WindowGradient, RefusesWhatItCannotShareOut) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const auto fits = [](std::int64_t in, std::int64_t out, int threads) {
    const WindowGradient::Axis rows = axis(9, 3, 2, 0, 1);
    return WindowGradient::fits({rows, rows, in, out}, threads, kernels());
  };
  EXPECT_TRUE(fits(64, 64, 4));
  EXPECT_FALSE(fits(64, 64, 3));
  EXPECT_TRUE(fits(48, 128, 2));
  EXPECT_FALSE(fits(64, 80, 1));
  EXPECT_FALSE(fits(24, 64, 1));
  EXPECT_FALSE(
      WindowGradient::fits({{}, {}, 64, 64}, 1, nn::kernels(base::InstructionSet::kBaseline)));
}

}  // namespace

// Compares weights gradients of bfloat16 image windows with plain sums in double precision, for
// each class that computes them.
// Hides the order of activations and weights.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/products/window_shape.h"

namespace window_trial {

using nn::Bf16;

inline std::vector<Bf16> noise(std::int64_t count, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  std::vector<Bf16> values(static_cast<std::size_t>(count));
  for (Bf16& value : values) {
    value = {plain::bf16_bits(static_cast<float>(random.uniform(-1.0, 1.0)))};
  }
  return values;
}

enum class Order { kBlocked, kChannelsLast };

struct Case {
  nn::WindowShape shape;
  std::int64_t samples;
  int threads;
};

/// A case's operands.
struct Activations {
  const Case& c;
  Order order;
  std::int64_t from_points = c.shape.rows.from * c.shape.columns.from;
  std::int64_t to_points = c.shape.rows.to * c.shape.columns.to;
  std::vector<Bf16> from = noise(c.samples * c.shape.in * from_points, 1);
  std::vector<Bf16> to = noise(c.samples * c.shape.out * to_points, 2);

  /// A sample's channel at a pixel.
  double at(const std::vector<Bf16>& all, std::int64_t channels, std::int64_t points,
            std::int64_t sample, std::int64_t channel, std::int64_t point) const {
    const std::int64_t row = (sample * (channels / 16) + channel / 16) * points + point;
    const std::int64_t place = order == Order::kBlocked
                                   ? row * 16 + channel % 16
                                   : (sample * points + point) * channels + channel;
    return static_cast<double>(nn::as_float(all[static_cast<std::size_t>(place)]));
  }

  /// Sum over samples and pixels, and the sum of its terms' absolute values.
  std::pair<double, double> sums(std::int64_t out, std::int64_t in, std::int64_t tap) const {
    const auto& [rows, columns, ins, outs] = c.shape;
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

/// Number of weights, in tiles of 16 x 16 channels.
inline std::size_t weights_of(const Case& c) {
  const std::int64_t tiles = (c.shape.in + 15) / 16 * ((c.shape.out + 15) / 16);
  return static_cast<std::size_t>(c.shape.taps() * tiles * 256);
}

template <class Gradient>
void expect_gradient(const Gradient& gradient, const Case& c, Order order) {
  const Activations given = {c, order};
  const std::int64_t taps = c.shape.taps();
  std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
  std::vector<float> once(weights_of(c), 7.0F);
  const auto run = [&](std::vector<float>& weights, bool add) {
    gradient.run(given.from.data(), given.to.data(), c.samples, weights.data(), add,
                 scratch.data());
  };
  run(once, false);
  for (std::size_t place = 0; place < once.size(); ++place) {
    const auto row = static_cast<std::int64_t>(place / 16), tile = row / 16 / taps;
    const std::int64_t blocks = (c.shape.in + 15) / 16;
    const std::int64_t in = tile % blocks * 16 + row % 16;
    const std::int64_t out = tile / blocks * 16 + static_cast<std::int64_t>(place % 16);
    if (in < c.shape.in && out < c.shape.out) continue;
    ASSERT_EQ(once[place], 0.0F) << in << ", " << out;
  }
  std::vector<float> twice = once;
  run(twice, true);
  for (std::int64_t out = 0; out < c.shape.out; ++out) {
    // Only every third one, as the sums here are slow.
    for (std::int64_t i = out % 3; i < c.shape.in * taps; i += 3) {
      const std::int64_t in = i / taps, tap = i % taps;
      const std::int64_t tile = (out / 16 * ((c.shape.in + 15) / 16) + in / 16) * taps + tap;
      const auto place = static_cast<std::size_t>((tile * 16 + in % 16) * 16 + out % 16);
      const auto [expected, size] = given.sums(out, in, tap);
      ASSERT_NEAR(static_cast<double>(once[place]), expected, 1e-6 * size)
          << out << ", " << in << ", tap " << tap;
      ASSERT_NEAR(static_cast<double>(twice[place]), 2.0 * expected, 3e-6 * size);
    }
  }
}

/// make(threads) returns the product of the case's shape on `threads` threads.
template <class Make>
void expect_same_bits_on_threads(const Case& c, Order order, const Make& make) {
  const Activations given = {c, order};
  std::vector<std::vector<float>> all;
  for (const int threads : {1, 2, 4}) {
    const auto gradient = make(threads);
    std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
    all.emplace_back(weights_of(c));
    gradient.run(given.from.data(), given.to.data(), c.samples, all.back().data(), false,
                 scratch.data());
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

/// As many windows as begin and end within the image and its padding.
inline nn::WindowAxis axis(std::int64_t from, std::int64_t kernel, std::int64_t stride,
                           std::int64_t begin, std::int64_t end) {
  return {from, (from + begin + end - kernel) / stride + 1, kernel, stride, begin};
}

}  // namespace window_trial

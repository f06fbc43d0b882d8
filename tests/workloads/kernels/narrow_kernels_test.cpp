// Every instruction set's narrow products against plain sums in double precision, of both types, of
// whole and of broken tiles. Hides nothing.
#include "workloads/kernels/narrow_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using nn::Bf16;
using nn::NarrowShape;
using namespace activations;

constexpr std::int64_t kBlock = NarrowShape::kBlock, kPlaces = NarrowShape::kPlaces;
/// Of sums of up to 60 products of at most 1, each rounded as a float.
constexpr double kFloats = 1e-5;
/// How points stand: those of a block side by side, with some more between the blocks; or all
/// blocks of a point.
enum class Order { kBlocks, kLast };
/// Points, and a matrix [channel][output] both ways.
template <class T, class Factor>
struct Problem {
  static constexpr std::int64_t kTogether = std::is_same_v<Factor, Bf16> ? 2 : 1;

  Problem(std::int64_t blocks, std::int64_t given_points, std::int64_t outputs,
          Order order = Order::kBlocks)
      : shape{blocks, order == Order::kLast ? kBlock : (given_points + 2) * kBlock, outputs,
              nn::Stores::kCached, order == Order::kLast ? blocks * kBlock : kBlock},
        points(given_points),
        src(wave<T>(blocks * (given_points + 2) * kBlock, 0.1)),
        by_channel(wave<Factor>(blocks * kBlock * kPlaces, 0.4)),
        diff_products(wave<Factor>(points * kPlaces, 0.9)) {
    const std::int64_t paired = kTogether > 1 ? kPlaces : outputs;
    by_output.resize(static_cast<std::size_t>(blocks * paired * kBlock), of<Factor>(0.0F));
    for (std::int64_t channel = 0; channel < blocks * kBlock; ++channel) {
      for (std::int64_t output = 0; output < outputs; ++output) {
        const std::int64_t row = (channel / kBlock * paired + output) / kTogether;
        const std::int64_t lane = channel % kBlock * kTogether + output % kTogether;
        by_output[static_cast<std::size_t>(row * kBlock * kTogether + lane)] =
            by_channel[weight_place(channel, output)];
      }
    }
    for (std::int64_t i = 0; kTogether > 1 && i < points * kPlaces; ++i) {
      if (i % kPlaces >= outputs) diff_products[static_cast<std::size_t>(i)] = of<Factor>(0.0F);
    }
  }
  std::int64_t channels() const { return shape.blocks * kBlock; }
  std::size_t place(std::int64_t point, std::int64_t channel) const {
    return static_cast<std::size_t>(channel / kBlock * shape.block_stride +
                                    point * shape.point_step + channel % kBlock);
  }
  double source(std::int64_t point, std::int64_t channel) const {
    return static_cast<double>(nn::as_float(src[place(point, channel)]));
  }
  static std::size_t weight_place(std::int64_t channel, std::int64_t output) {
    const std::int64_t row = channel / kTogether * kPlaces + output;
    return static_cast<std::size_t>(row * kTogether + channel % kTogether);
  }
  double weight(std::int64_t channel, std::int64_t output) const {
    return static_cast<double>(nn::as_float(by_channel[weight_place(channel, output)]));
  }
  double gradient(std::int64_t point, std::int64_t output) const {
    const auto place = static_cast<std::size_t>(point * kPlaces + output);
    return static_cast<double>(nn::as_float(diff_products[place]));
  }

  NarrowShape shape;
  const std::int64_t points;
  const std::vector<T> src;
  const std::vector<Factor> by_channel;
  std::vector<Factor> diff_products, by_output;
};

template <class T, class Factor>
void check_forward(const Problem<T, Factor>& problem, const nn::NarrowKernels<T, Factor>& kernels) {
  std::vector<float> products(static_cast<std::size_t>(problem.points * kPlaces));
  kernels.forward(problem.src.data(), problem.by_channel.data(), problem.shape, problem.points,
                  products.data());
  for (std::int64_t point = 0; point < problem.points; ++point) {
    for (std::int64_t output = 0; output < problem.shape.outputs; ++output) {
      double sum = 0.0;
      for (std::int64_t channel = 0; channel < problem.channels(); ++channel) {
        sum += problem.source(point, channel) * problem.weight(channel, output);
      }
      const auto place = static_cast<std::size_t>(point * kPlaces + output);
      ASSERT_NEAR(static_cast<double>(products[place]), sum, kFloats) << "point " << point;
    }
  }
  std::vector<float> alone(kPlaces);
  for (std::int64_t point = 0; point < problem.points; ++point) {
    kernels.forward(problem.src.data() + point * problem.shape.point_step,
                    problem.by_channel.data(), problem.shape, 1, alone.data());
    ASSERT_EQ(std::memcmp(alone.data(), products.data() + point * kPlaces,
                          static_cast<std::size_t>(problem.shape.outputs) * sizeof(float)),
              0)
        << "point " << point;
  }
}

template <class T, class Factor>
void check_source_gradient(const Problem<T, Factor>& problem,
                           const nn::NarrowKernels<T, Factor>& kernels) {
  constexpr float kUntouched = -1234.0F;
  std::vector<T> diff_src(problem.src.size(), of<T>(kUntouched));
  kernels.source_gradient(problem.diff_products.data(), problem.by_output.data(), problem.shape,
                          problem.points, diff_src.data());
  for (std::int64_t channel = 0; channel < problem.channels(); ++channel) {
    for (std::int64_t point = 0; point < problem.points; ++point) {
      double sum = 0.0;
      for (std::int64_t output = 0; output < problem.shape.outputs; ++output) {
        sum += problem.gradient(point, output) * problem.weight(channel, output);
      }
      ASSERT_NEAR(static_cast<double>(nn::as_float(diff_src[problem.place(point, channel)])), sum,
                  kFloats + kRounding<T> * std::abs(sum))
          << "point " << point << ", channel " << channel;
    }
    ASSERT_EQ(nn::as_float(diff_src[problem.place(problem.points, channel)]),
              nn::as_float(of<T>(kUntouched)));
  }
}

template <class T, class Factor>
void check_weights_gradient(const Problem<T, Factor>& problem,
                            const nn::NarrowKernels<T, Factor>& kernels) {
  constexpr float kBefore = 3.0F;
  std::vector<float> sums(static_cast<std::size_t>(problem.channels() * kPlaces), kBefore);
  kernels.weights_gradient(problem.src.data(), problem.diff_products.data(), problem.shape,
                           problem.points, sums.data());
  for (std::int64_t channel = 0; channel < problem.channels(); ++channel) {
    for (std::int64_t output = 0; output < problem.shape.outputs; ++output) {
      double sum = static_cast<double>(kBefore);
      for (std::int64_t point = 0; point < problem.points; ++point) {
        sum += problem.source(point, channel) * problem.gradient(point, output);
      }
      const std::int64_t row = channel / kBlock * kPlaces + output;
      ASSERT_NEAR(
          static_cast<double>(sums[static_cast<std::size_t>(row * kBlock + channel % kBlock)]), sum,
          kFloats * std::max(1.0, static_cast<double>(problem.points) / 60.0))
          << "channel " << channel << ", output " << output;
    }
  }
}

/// Those that have kernels of such factors.
template <class T, class Factor>
std::vector<const nn::NarrowKernels<T, Factor>*> usable_narrow() {
  std::vector<const nn::NarrowKernels<T, Factor>*> all;
  for (const nn::Kernels* const kernels : usable_kernels()) {
    if (kernels->narrow<T, Factor>().forward != nullptr)
      all.push_back(&kernels->narrow<T, Factor>());
  }
  return all;
}

template <class T, class Factor>
void check_shapes(const nn::NarrowKernels<T, Factor>& kernels, Order order,
                  const std::vector<std::int64_t>& all_points) {
  for (const std::int64_t blocks : {1, 2, 3, 5}) {
    for (const std::int64_t points : all_points) {
      for (const std::int64_t outputs : {1, 14, 15, 27, 28}) {
        SCOPED_TRACE(std::to_string(blocks) + " blocks, " + std::to_string(points) + " points, " +
                     std::to_string(outputs) + " outputs");
        const Problem<T, Factor> problem(blocks, points, outputs, order);
        check_forward(problem, kernels);
        check_source_gradient(problem, kernels);
        check_weights_gradient(problem, kernels);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

template <class T, class Factor>
void check_shapes() {
  for (const auto* const kernels : usable_narrow<T, Factor>()) {
    check_shapes(*kernels, Order::kBlocks, {1, 2, 13, 14, 17, 44, 60});
  }
}

TEST(NarrowKernels, AddUpAllProducts) { check_shapes<float, float>(); }

TEST(NarrowKernels, AddUpAllProductsInBfloat16) { check_shapes<Bf16, float>(); }

TEST(NarrowKernels, AddUpAllProductsOfPairs) {
  if (usable_narrow<Bf16, Bf16>().empty()) GTEST_SKIP() << "needs avx512_bf16";
  check_shapes<Bf16, Bf16>();
}

TEST(NarrowKernels, AddUpAllProductsInTiles) {
  // More than a tile, and, of gradients, than are multiplied together.
  check_shapes(tile_kernels().bf16_narrow_tiles, Order::kLast,
               {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 100, 290, 321});
}

/// Numbers that say where they stand, exact in bfloat16.
float number_at(std::int64_t point, std::int64_t output) {
  return static_cast<float>(point % 8 * kPlaces + output);
}

/// Back and forth: products to planes, and rows of gradients to points, of broken tiles, too.
template <class T, class Factor>
void check_turns() {
  constexpr std::int64_t kPitch = 40;
  for (const auto* const kernels : usable_narrow<T, Factor>()) {
    for (const std::int64_t points : {1, 15, 16, 17, 37}) {
      std::vector<float> products(static_cast<std::size_t>(points * kPlaces));
      for (std::int64_t i = 0; i < points * kPlaces; ++i) {
        products[static_cast<std::size_t>(i)] = number_at(i / kPlaces, i % kPlaces);
      }
      std::vector<float> planes(kPlaces * kPitch, -1.0F);
      kernels->part(products.data(), points, kPitch, planes.data());
      for (std::int64_t i = 0; i < kPlaces * kPitch; ++i) {
        const std::int64_t point = i % kPitch;
        ASSERT_EQ(planes[static_cast<std::size_t>(i)],
                  point < points ? number_at(point, i / kPitch) : -1.0F)
            << i << " of " << points;
      }
      for (const std::int64_t outputs : {1, 16, 27}) {
        std::vector<const float*> rows;
        for (std::int64_t i = 0; i < outputs; ++i) rows.push_back(planes.data() + i * kPitch);
        std::vector<Factor> joined(static_cast<std::size_t>((points + 1) * kPlaces),
                                   of<Factor>(-1.0F));
        kernels->join(rows.data(), outputs, points, joined.data());
        for (std::int64_t i = 0; i < (points + 1) * kPlaces; ++i) {
          const std::int64_t point = i / kPlaces, output = i % kPlaces;
          const float behind = point < points ? 0.0F : -1.0F;
          ASSERT_EQ(nn::as_float(joined[static_cast<std::size_t>(i)]),
                    point < points && output < outputs ? number_at(point, output) : behind)
              << i << " of " << points << ", " << outputs << " outputs";
        }
      }
    }
  }
}

TEST(NarrowKernels, TurnProductsAndGradients) {
  check_turns<float, float>();
  check_turns<Bf16, Bf16>();
}

/// From the beginning of a line, and from the midst of one, as which it cannot be streamed.
template <class T, class Factor>
void check_streams(const nn::NarrowKernels<T, Factor>& kernels, Order order, std::int64_t blocks) {
  constexpr std::int64_t kPoints = 30, kOutputs = 27, kApart = 4;
  Problem<T, Factor> problem(blocks, kPoints, kOutputs, order);
  const nn::AlignedFloats memory(static_cast<std::int64_t>(problem.src.size()) + kApart);
  auto* const line = reinterpret_cast<T*>(memory.data());
  std::vector<T> cached(problem.src.size());
  const auto find = [&](nn::Stores stores, T* to) {
    problem.shape.stores = stores;
    kernels.source_gradient(problem.diff_products.data(), problem.by_output.data(), problem.shape,
                            kPoints, to);
  };
  find(nn::Stores::kCached, cached.data());
  for (T* const to : {line, line + kApart}) {
    std::memset(to, 0, cached.size() * sizeof(T));
    find(nn::Stores::kStreamed, to);
    EXPECT_EQ(std::memcmp(to, cached.data(), cached.size() * sizeof(T)), 0);
  }
}

template <class T, class Factor>
void check_streams() {
  for (const auto* const kernels : usable_narrow<T, Factor>()) {
    check_streams(*kernels, Order::kBlocks, 3);
  }
}

TEST(NarrowKernels, StreamTheSameBits) {
  check_streams<float, float>();
  check_streams<Bf16, float>();
  check_streams<Bf16, Bf16>();
  for (const std::int64_t blocks : {2, 3}) {
    check_streams(tile_kernels().bf16_narrow_tiles, Order::kLast, blocks);
  }
}

}  // namespace

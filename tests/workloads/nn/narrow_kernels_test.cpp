// Every instruction set's narrow products against plain sums in double precision, of both types, of
// whole and of broken tiles. Hides nothing.
#include "workloads/nn/narrow_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "workloads/nn/activation_numbers.h"
#include "workloads/nn/aligned.h"
#include "workloads/nn/kernels.h"
#include "workloads/nn/usable_kernels.h"

namespace {

using nn::Bf16;
using nn::NarrowShape;
using namespace activations;

constexpr std::int64_t kBlock = NarrowShape::kBlock, kPlaces = NarrowShape::kPlaces;
/// Of sums of up to 60 products of at most 1, each rounded as a float.
constexpr double kFloats = 1e-5;
/// Points with some more between the blocks, and a matrix [channel][output] both ways.
template <class T, class Factor>
struct Problem {
  static constexpr std::int64_t kTogether = std::is_same_v<Factor, Bf16> ? 2 : 1;

  Problem(std::int64_t blocks, std::int64_t given_points, std::int64_t outputs)
      : shape{blocks, (given_points + 2) * kBlock, outputs},
        points(given_points),
        src(wave<T>(blocks * shape.block_stride, 0.1)),
        by_channel(wave<Factor>(blocks * kBlock * kPlaces, 0.4)),
        diff_products(wave<Factor>(points * kPlaces, 0.9)) {
    const std::int64_t paired = (outputs + kTogether - 1) / kTogether * kTogether;
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
    return static_cast<std::size_t>(channel / kBlock * shape.block_stride + point * kBlock +
                                    channel % kBlock);
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
    kernels.forward(problem.src.data() + point * kBlock, problem.by_channel.data(), problem.shape,
                    1, alone.data());
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
          kFloats)
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
void check_shapes() {
  for (const auto* const kernels : usable_narrow<T, Factor>()) {
    for (const std::int64_t blocks : {1, 2, 3}) {
      for (const std::int64_t points : {1, 2, 13, 14, 17, 44, 60}) {
        for (const std::int64_t outputs : {1, 14, 15, 27, 28}) {
          SCOPED_TRACE(std::to_string(blocks) + " blocks, " + std::to_string(points) + " points, " +
                       std::to_string(outputs) + " outputs");
          const Problem<T, Factor> problem(blocks, points, outputs);
          check_forward(problem, *kernels);
          check_source_gradient(problem, *kernels);
          check_weights_gradient(problem, *kernels);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(NarrowKernels, AddUpAllProducts) { check_shapes<float, float>(); }

TEST(NarrowKernels, AddUpAllProductsInBfloat16) { check_shapes<Bf16, float>(); }

TEST(NarrowKernels, AddUpAllProductsOfPairs) {
  if (usable_narrow<Bf16, Bf16>().empty()) GTEST_SKIP() << "needs avx512_bf16";
  check_shapes<Bf16, Bf16>();
}

/// From the beginning of a line, and from the midst of one, as which it cannot be streamed.
template <class T, class Factor>
void check_streams() {
  constexpr std::int64_t kBlocks = 3, kPoints = 30, kOutputs = 27, kApart = 4;
  Problem<T, Factor> problem(kBlocks, kPoints, kOutputs);
  const nn::AlignedFloats memory(static_cast<std::int64_t>(problem.src.size()) + kApart);
  auto* const line = reinterpret_cast<T*>(memory.data());
  for (const auto* const kernels : usable_narrow<T, Factor>()) {
    std::vector<T> cached(problem.src.size());
    const auto find = [&](nn::Stores stores, T* to) {
      problem.shape.stores = stores;
      kernels->source_gradient(problem.diff_products.data(), problem.by_output.data(),
                               problem.shape, kPoints, to);
    };
    find(nn::Stores::kCached, cached.data());
    for (T* const to : {line, line + kApart}) {
      std::memset(to, 0, cached.size() * sizeof(T));
      find(nn::Stores::kStreamed, to);
      EXPECT_EQ(std::memcmp(to, cached.data(), cached.size() * sizeof(T)), 0);
    }
  }
}

TEST(NarrowKernels, StreamTheSameBits) {
  check_streams<float, float>();
  check_streams<Bf16, float>();
  check_streams<Bf16, Bf16>();
}

}  // namespace

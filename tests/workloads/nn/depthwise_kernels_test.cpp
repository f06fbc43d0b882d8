// Every instruction set's depthwise kernels against plain sums over all taps, of odd sizes too.
// Hides nothing.
#include "workloads/nn/depthwise_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "workloads/nn/kernels.h"

namespace {

using base::InstructionSet;
using nn::DepthwisePlane;
using Values = std::vector<float>;

constexpr std::int64_t kSide = 3, kTaps = DepthwisePlane::kTaps, kBlock = DepthwisePlane::kBlock;
constexpr double kTolerance = 1e-5;

std::vector<const nn::Kernels*> usable_kernels() {
  std::vector<const nn::Kernels*> all;
  for (const auto set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set <= base::usable_instruction_set()) all.push_back(&nn::kernels(set));
  }
  return all;
}

Values wave(std::int64_t count, double phase) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase));
  }
  return values;
}

/// A plane and all that belongs to it; results are no numbers until they are written.
struct Problem {
  explicit Problem(const DepthwisePlane& given)
      : plane(given),
        src(wave(plane.height * plane.width * plane.src_step, 0.1)),
        diff_dst(wave(plane.dst_height() * plane.dst_width() * plane.dst_step, 0.5)),
        weights(wave(kTaps * plane.weights_step, 0.9)) {}

  /// Calls body(source point, tap, destination point) for every product.
  template <class Body>
  void for_products(const Body& body) const {
    for (std::int64_t row = 0; row < plane.dst_height(); ++row) {
      for (std::int64_t column = 0; column < plane.dst_width(); ++column) {
        for (std::int64_t tap = 0; tap < kTaps; ++tap) {
          const std::int64_t y = row * plane.stride + (tap / kSide - 1) * plane.dilation;
          const std::int64_t x = column * plane.stride + (tap % kSide - 1) * plane.dilation;
          if (y < 0 || y >= plane.height || x < 0 || x >= plane.width) continue;
          body(y * plane.width + x, tap, row * plane.dst_width() + column);
        }
      }
    }
  }
  double source(std::int64_t point, int lane) const {
    return at(src, point * plane.src_step, lane);
  }
  double gradient(std::int64_t point, int lane) const {
    return at(diff_dst, point * plane.dst_step, lane);
  }
  double weight(std::int64_t tap, int lane) const {
    return at(weights, tap * plane.weights_step, lane);
  }
  static double at(const Values& values, std::int64_t first, int lane) {
    return static_cast<double>(values[static_cast<std::size_t>(first + lane)]);
  }

  const DepthwisePlane plane;
  const Values src, diff_dst, weights;
};

void expect_near(const Values& found, const std::vector<double>& expected, std::int64_t step,
                 int channels) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (static_cast<std::int64_t>(i) % step >= channels) continue;
    ASSERT_NEAR(static_cast<double>(found[i]), expected[i], kTolerance) << "value " << i;
  }
}

void check_forward(const Problem& problem, const nn::DepthwiseKernels<float>& kernels) {
  const DepthwisePlane& plane = problem.plane;
  Values dst(problem.diff_dst.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t row = 0; row < plane.dst_height(); ++row) {
    kernels.forward(problem.src.data(), problem.weights.data(), dst.data(), plane, row);
  }
  std::vector<double> expected(dst.size(), 0.0);
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(to * plane.dst_step + lane)] +=
          problem.source(from, lane) * problem.weight(tap, lane);
    }
  });
  expect_near(dst, expected, plane.dst_step, plane.channels);
}

void check_source_gradient(const Problem& problem, const nn::DepthwiseKernels<float>& kernels) {
  const DepthwisePlane& plane = problem.plane;
  Values diff_src(problem.src.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t row = 0; row < plane.height; ++row) {
    kernels.source_gradient(problem.diff_dst.data(), problem.weights.data(), diff_src.data(), plane,
                            row);
  }
  std::vector<double> expected(diff_src.size(), 0.0);
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(from * plane.src_step + lane)] +=
          problem.gradient(to, lane) * problem.weight(tap, lane);
    }
  });
  expect_near(diff_src, expected, plane.src_step, plane.channels);
}

void check_weights_gradient(const Problem& problem, const nn::DepthwiseKernels<float>& kernels) {
  constexpr double kBefore = 3.0;
  const DepthwisePlane& plane = problem.plane;
  std::vector<double> sums(kTaps * kBlock, kBefore), expected(sums);
  for (std::int64_t row = 0; row < plane.dst_height(); ++row) {
    kernels.weights_gradient(problem.src.data(), problem.diff_dst.data(), plane, row, sums.data());
  }
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(tap * kBlock + lane)] +=
          problem.source(from, lane) * problem.gradient(to, lane);
    }
  });
  for (std::int64_t tap = 0; tap < kTaps; ++tap) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      const auto i = static_cast<std::size_t>(tap * kBlock + lane);
      ASSERT_NEAR(sums[i], expected[i], kTolerance) << "tap " << tap << ", channel " << lane;
    }
  }
}

struct Reach {
  std::int64_t stride, dilation;
};

void check_all(const DepthwisePlane& plane) {
  SCOPED_TRACE("plane of " + std::to_string(plane.height) + " x " + std::to_string(plane.width) +
               ", stride " + std::to_string(plane.stride) + ", dilation " +
               std::to_string(plane.dilation) + ", channels " + std::to_string(plane.channels));
  const Problem problem(plane);
  for (const nn::Kernels* const kernels : usable_kernels()) {
    check_forward(problem, kernels->depthwise<float>());
    check_source_gradient(problem, kernels->depthwise<float>());
    check_weights_gradient(problem, kernels->depthwise<float>());
  }
}

TEST(DepthwiseKernels, AddUpAllTapsThatMeetThePlane) {
  for (const Reach reach : {Reach{1, 1}, {1, 2}, {1, 6}, {2, 1}, {3, 1}, {5, 1}}) {
    for (const std::int64_t height : {1, 2, 7}) {
      for (const std::int64_t width : {1, 2, 3, 4, 5, 8, 13}) {
        for (const int channels : {5, 16}) {
          const std::int64_t step = channels == 16 ? 16 : 21;
          check_all({height, width, reach.stride, reach.dilation, step, step, channels,
                     channels == 16 ? 16 : 8});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace

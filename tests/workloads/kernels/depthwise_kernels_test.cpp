// Depthwise kernels, for every instruction set, both types and odd sizes, against plain sums over
// all taps.
#include "workloads/kernels/depthwise_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/kernels/depthwise_trial.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using nn::Bf16;
using nn::DepthwisePlane;
using namespace depthwise;

/// A plane with its source, gradient and weights.
template <class T>
struct Problem {
  explicit Problem(const DepthwisePlane& given)
      : plane(given),
        src(wave<T>(plane.height * plane.width * plane.src_step, 0.1)),
        diff_dst(wave<T>(plane.dst_height() * plane.dst_width() * plane.dst_step, 0.5)),
        weights(wave<float>(kTaps * plane.weights_step, 0.9)) {}

  /// Calls body(source pixel, tap, destination pixel) for every product.
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
    return number(src[static_cast<std::size_t>(point * plane.src_step + lane)]);
  }
  double gradient(std::int64_t point, int lane) const {
    return number(diff_dst[static_cast<std::size_t>(point * plane.dst_step + lane)]);
  }
  double weight(std::int64_t tap, int lane) const {
    return number(weights[static_cast<std::size_t>(tap * plane.weights_step + lane)]);
  }

  const DepthwisePlane plane;
  const std::vector<T> src, diff_dst;
  const std::vector<float> weights;
};

/// Expects pixels of `step` elements, of which only the first `channels` are written.
template <class T>
void expect_near(const std::vector<T>& found, const std::vector<double>& expected,
                 std::int64_t step, int channels) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (static_cast<std::int64_t>(i) % step >= channels) {
      ASSERT_EQ(number(found[i]), number(of<T>(kUntouched))) << "value " << i;
      continue;
    }
    ASSERT_NEAR(number(found[i]), expected[i], kFloats + kRounding<T> * std::abs(expected[i]))
        << "value " << i;
  }
}

template <class T>
void check_forward(const Problem<T>& problem, const nn::DepthwiseKernels<T>& kernels) {
  const DepthwisePlane& plane = problem.plane;
  std::vector<T> dst(problem.diff_dst.size(), of<T>(kUntouched)), alone = dst;
  const auto convolve = [&](std::vector<T>& to, nn::RowRange rows) {
    kernels.forward(problem.src.data(), problem.weights.data(), to.data(), plane, rows);
  };
  convolve(dst, {0, plane.dst_height()});
  for (std::int64_t row = 0; row < plane.dst_height(); ++row) convolve(alone, {row, row + 1});
  ASSERT_EQ(std::memcmp(alone.data(), dst.data(), dst.size() * sizeof(T)), 0);
  std::vector<double> expected(dst.size(), 0.0);
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(to * plane.dst_step + lane)] +=
          problem.source(from, lane) * problem.weight(tap, lane);
    }
  });
  expect_near(dst, expected, plane.dst_step, plane.channels);
}

template <class T>
void expect_source_gradient(const Problem<T>& problem, const std::vector<T>& diff_src) {
  const DepthwisePlane& plane = problem.plane;
  std::vector<double> expected(diff_src.size(), 0.0);
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(from * plane.src_step + lane)] +=
          problem.gradient(to, lane) * problem.weight(tap, lane);
    }
  });
  expect_near(diff_src, expected, plane.src_step, plane.channels);
}

template <class T>
void expect_weights_gradient(const Problem<T>& problem, const std::vector<double>& sums) {
  const DepthwisePlane& plane = problem.plane;
  std::vector<double> expected(sums.size(), kBefore);
  problem.for_products([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      expected[static_cast<std::size_t>(tap * kBlock + lane)] +=
          problem.source(from, lane) * problem.gradient(to, lane);
    }
  });
  for (std::int64_t tap = 0; tap < kTaps; ++tap) {
    for (int lane = 0; lane < plane.channels; ++lane) {
      const auto i = static_cast<std::size_t>(tap * kBlock + lane);
      ASSERT_NEAR(sums[i], expected[i], kFloats) << "tap " << tap << ", channel " << lane;
    }
  }
}

constexpr std::int64_t kAllRows = 100;  ///< at least

/// Computes both gradients, `at_once` rows per call; with diff_src null, only the weights'
/// gradient.
template <class T>
void find_gradients(const Problem<T>& problem, const nn::DepthwiseKernels<T>& kernels, T* diff_src,
                    double* sums, std::int64_t at_once = kAllRows) {
  const DepthwisePlane& plane = problem.plane;
  const T* const src = problem.src.data();
  const T* const diff_dst = problem.diff_dst.data();
  const float* const weights = problem.weights.data();
  const auto for_rows = [&](std::int64_t count, const auto& run) {
    for (std::int64_t row = 0; row < count; row += at_once) {
      run(nn::RowRange{row, std::min(row + at_once, count)});
    }
  };
  if (plane.stride == 1) {
    return for_rows(plane.height, [&](nn::RowRange rows) {
      kernels.gradients(src, diff_dst, weights, diff_src, plane, rows, sums);
    });
  }
  for_rows(plane.dst_height(),
           [&](nn::RowRange rows) { kernels.weights_gradient(src, diff_dst, plane, rows, sums); });
  if (diff_src == nullptr) return;
  for_rows(plane.height, [&](nn::RowRange rows) {
    kernels.source_gradient(diff_dst, weights, diff_src, plane, rows);
  });
}

template <class T>
void check_gradients(const Problem<T>& problem, const nn::DepthwiseKernels<T>& kernels) {
  std::vector<T> diff_src(problem.src.size(), of<T>(kUntouched));
  std::vector<double> sums(kTaps * kBlock, kBefore), alone = sums;
  find_gradients(problem, kernels, diff_src.data(), sums.data());
  expect_source_gradient(problem, diff_src);
  expect_weights_gradient(problem, sums);
  find_gradients(problem, kernels, static_cast<T*>(nullptr), alone.data());
  ASSERT_EQ(alone, sums);
  std::vector<T> rows_alone(problem.src.size(), of<T>(kUntouched));
  std::vector<double> again(kTaps * kBlock, kBefore);
  find_gradients(problem, kernels, rows_alone.data(), again.data(), 1);
  ASSERT_EQ(std::memcmp(rows_alone.data(), diff_src.data(), diff_src.size() * sizeof(T)), 0);
  expect_weights_gradient(problem, again);
}

template <class T>
void check_all(const DepthwisePlane& plane) {
  SCOPED_TRACE("plane of " + std::to_string(plane.height) + " x " + std::to_string(plane.width) +
               ", stride " + std::to_string(plane.stride) + ", dilation " +
               std::to_string(plane.dilation) + ", channels " + std::to_string(plane.channels));
  const Problem<T> problem(plane);
  for (const nn::Kernels* const kernels : usable_kernels()) {
    check_forward(problem, kernels->depthwise<T>());
    check_gradients(problem, kernels->depthwise<T>());
  }
}

/// Channels of a plane, elements from pixel to pixel, and from tap to tap.
struct Lane {
  int channels;
  std::int64_t step;
  int weights_step;
};

template <class T>
void check_shapes() {
  for (const Reach reach : {Reach{1, 1}, {1, 2}, {1, 6}, {2, 1}, {3, 1}, {5, 1}}) {
    for (const std::int64_t height : {1, 2, 7}) {
      for (const std::int64_t width : {1, 2, 3, 4, 5, 8, 13}) {
        // Whole blocks; the last 5 of 21 channels (channels last); single channels; blocks of 8.
        for (const Lane lane : {Lane{16, 16, 16}, {5, 21, 16}, {1, 1, 1}, {8, 8, 8}}) {
          check_all<T>({height, width, reach.stride, reach.dilation, lane.step, lane.step,
                        lane.channels, lane.weights_step});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DepthwiseKernels, AddUpAllTapsThatMeetThePlane) { check_shapes<float>(); }

TEST(DepthwiseKernels, AddUpAllTapsInBfloat16) { check_shapes<Bf16>(); }

/// The same problem with streaming stores.
template <class T>
Problem<T> streamed(const Problem<T>& problem) {
  DepthwisePlane plane = problem.plane;
  plane.stores = nn::Stores::kStreamed;
  return Problem<T>(plane);
}

/// Expects streaming stores to write the same bits as ordinary ones, at the beginning of a cache
/// line and inside one.
template <class T>
void check_streams(const DepthwisePlane& plane) {
  const Problem<T> cached(plane), passing = streamed(cached);
  constexpr std::int64_t kApart = 4;
  const nn::AlignedFloats memory(static_cast<std::int64_t>(cached.src.size()) + kApart);
  auto* const line = reinterpret_cast<T*>(memory.data());
  for (const nn::Kernels* const kernels : usable_kernels()) {
    const nn::DepthwiseKernels<T>& depthwise = kernels->depthwise<T>();
    const auto convolve = [&](const Problem<T>& problem, T* dst) {
      depthwise.forward(problem.src.data(), problem.weights.data(), dst, problem.plane,
                        {0, plane.dst_height()});
    };
    std::vector<T> dst(cached.diff_dst.size()), diff_src(cached.src.size());
    std::vector<double> sums(kTaps * kBlock);
    convolve(cached, dst.data());
    find_gradients(cached, depthwise, diff_src.data(), sums.data());
    for (T* const to : {line, line + kApart}) {
      convolve(passing, to);
      EXPECT_EQ(std::memcmp(to, dst.data(), dst.size() * sizeof(T)), 0);
      find_gradients(passing, depthwise, to, sums.data());
      EXPECT_EQ(std::memcmp(to, diff_src.data(), diff_src.size() * sizeof(T)), 0);
    }
  }
}

TEST(DepthwiseKernels, StreamTheSameBits) {
  for (const Reach reach : {Reach{1, 1}, {1, 2}, {2, 1}, {3, 1}}) {
    const DepthwisePlane plane = {7, 13, reach.stride, reach.dilation, 16, 16, 16, 16};
    check_streams<float>(plane);
    check_streams<Bf16>(plane);
  }
}

}  // namespace

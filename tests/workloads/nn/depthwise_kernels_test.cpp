// Every instruction set's depthwise kernels against plain sums over all taps, of both types and odd
// sizes. Hides nothing.
#include "workloads/nn/depthwise_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/nn/aligned.h"
#include "workloads/nn/kernels.h"
#include "workloads/nn/plain_bf16.h"
#include "workloads/nn/usable_kernels.h"

namespace {

using nn::Bf16;
using nn::DepthwisePlane;

constexpr std::int64_t kSide = 3, kTaps = DepthwisePlane::kTaps, kBlock = DepthwisePlane::kBlock;
/// Of sums of up to 91 products of at most 1, each rounded as a float.
constexpr double kFloats = 1e-5;
/// What is stored in bfloat16 is rounded once more.
template <class T>
constexpr double kRounding = std::is_same_v<T, float> ? 0.0 : 1.0 / 256;
/// What nobody writes keeps this value.
constexpr float kUntouched = -1234.0F;

double number(float value) { return static_cast<double>(value); }
double number(Bf16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}
template <class T>
T of(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return {plain::bf16_bits(value)};
  }
}

template <class T>
std::vector<T> wave(std::int64_t count, double phase) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(of<T>(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase))));
  }
  return values;
}

/// A plane and all that belongs to it.
template <class T>
struct Problem {
  explicit Problem(const DepthwisePlane& given)
      : plane(given),
        src(wave<T>(plane.height * plane.width * plane.src_step, 0.1)),
        diff_dst(wave<T>(plane.dst_height() * plane.dst_width() * plane.dst_step, 0.5)),
        weights(wave<float>(kTaps * plane.weights_step, 0.9)) {}

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

/// Points of `step` values, of which the first `channels` are written.
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

constexpr double kBefore = 3.0;  ///< in sums to which a gradient is added

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

/// Both gradients, of a layer that wants the source's or not; so many rows at once.
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

/// How often points are taken, and how far taps are apart.
struct Reach {
  std::int64_t stride, dilation;
};
/// Channels of a block, the values from point to point, and those from tap to tap.
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
        // Whole blocks, the last channels of points of 21, plain planes, blocks of 8.
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

/// Planes of all channels: weights [C / 16][9][16], as sums.
template <class T>
class WideProblem {
 public:
  explicit WideProblem(const DepthwisePlane& plane)
      : plane_(plane),
        src_(wave<T>(plane.height * plane.width * plane.src_step, 0.1)),
        diff_dst_(wave<T>(plane.dst_height() * plane.dst_width() * plane.dst_step, 0.5)),
        weights_(wave<float>(blocks() * kTaps * kBlock, 0.9)) {}

  /// Destinations have the bits that those of 16 channels alone have.
  void expect_forward(const nn::DepthwiseKernels<T>& kernels) const {
    nn::AlignedFloats memory(std::ssize(diff_dst_) + kApart);
    std::vector<T> expected(diff_dst_.size());
    const nn::RowRange all = {0, plane_.dst_height()};
    for_blocks([&](const DepthwisePlane& part, std::int64_t first) {
      kernels.forward(src_.data() + first, weights_.data() + first * kTaps, expected.data() + first,
                      part, all);
    });
    for_stores(memory, [&](const DepthwisePlane& plane, T* dst) {
      for_rows(all.end, [&](nn::RowRange rows) {
        kernels.wide_forward(src_.data(), weights_.data(), dst, plane, rows);
      });
      EXPECT_EQ(std::memcmp(dst, expected.data(), expected.size() * sizeof(T)), 0);
    });
  }

  void expect_gradients(const nn::DepthwiseKernels<T>& kernels) const {
    nn::AlignedFloats memory(std::ssize(src_) + kApart);
    std::vector<T> expected(src_.size());
    std::vector<double> expected_sums(static_cast<std::size_t>(blocks() * kTaps * kBlock), kBefore);
    for_blocks([&](const DepthwisePlane& part, std::int64_t first) {
      gradients_of_block(kernels, part, first, expected.data(), expected_sums.data());
    });
    for_stores(memory, [&](const DepthwisePlane& plane, T* diff_src) {
      std::vector<double> sums(expected_sums.size(), kBefore);
      for_rows(plane.stride == 1 ? plane.height : plane.dst_height(), [&](nn::RowRange rows) {
        kernels.wide_gradients(src_.data(), diff_dst_.data(), weights_.data(), diff_src, plane,
                               rows, sums.data());
      });
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = number(expected[i]);  // either is rounded
        ASSERT_NEAR(number(diff_src[i]), value, kFloats + 2 * kRounding<T> * std::abs(value)) << i;
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::int64_t channel = static_cast<std::int64_t>(i) / kTaps / kBlock * kBlock +
                                     static_cast<std::int64_t>(i) % kBlock;
        if (channel >= plane.channels) continue;
        ASSERT_NEAR(sums[i], expected_sums[i], 4 * kFloats) << i;
      }
    });
  }

 private:
  static constexpr std::int64_t kApart = 4;
  std::int64_t blocks() const { return (plane_.channels + kBlock - 1) / kBlock; }
  template <class Body>
  void for_blocks(const Body& body) const {
    for (std::int64_t first = 0; first < plane_.channels; first += kBlock) {
      DepthwisePlane part = plane_;
      part.channels = static_cast<int>(std::min<std::int64_t>(kBlock, plane_.channels - first));
      body(part, first);
    }
  }
  void gradients_of_block(const nn::DepthwiseKernels<T>& kernels, const DepthwisePlane& part,
                          std::int64_t first, T* diff_src, double* sums) const {
    const T* const src = src_.data() + first;
    const T* const diff_dst = diff_dst_.data() + first;
    const float* const weights = weights_.data() + first * kTaps;
    const nn::RowRange sources = {0, part.height};
    double* const to = sums + first * kTaps;
    if (part.stride == 1) {
      return kernels.gradients(src, diff_dst, weights, diff_src + first, part, sources, to);
    }
    kernels.weights_gradient(src, diff_dst, part, {0, part.dst_height()}, to);
    kernels.source_gradient(diff_dst, weights, diff_src + first, part, sources);
  }
  /// Through the caches, and past them: to the beginning of a line and into the midst of one.
  template <class Body>
  void for_stores(nn::AlignedFloats& memory, const Body& body) const {
    auto* const line = reinterpret_cast<T*>(memory.data());
    for (const nn::Stores stores : {nn::Stores::kCached, nn::Stores::kStreamed}) {
      for (T* const to : {line, line + kApart}) {
        std::fill_n(to, memory.count() - kApart, of<T>(kUntouched));
        DepthwisePlane plane = plane_;
        plane.stores = stores;
        body(plane, to);
      }
    }
  }
  /// In parts, one of an odd number of rows.
  template <class Body>
  void for_rows(std::int64_t count, const Body& body) const {
    for (std::int64_t row = 0; row < count; row += 5) {
      body(nn::RowRange{row, std::min(row + 5, count)});
    }
  }

  const DepthwisePlane plane_;
  const std::vector<T> src_, diff_dst_;
  const std::vector<float> weights_;
};

template <class T>
void check_wide(const DepthwisePlane& plane) {
  SCOPED_TRACE("plane of " + std::to_string(plane.height) + " x " + std::to_string(plane.width) +
               ", stride " + std::to_string(plane.stride) + ", dilation " +
               std::to_string(plane.dilation) + ", channels " + std::to_string(plane.channels));
  ASSERT_TRUE(plane.is_wide());
  const WideProblem<T> problem(plane);
  for (const nn::Kernels* const kernels : usable_kernels()) {
    problem.expect_forward(kernels->depthwise<T>());
    problem.expect_gradients(kernels->depthwise<T>());
  }
}

TEST(DepthwiseKernels, GoOverAllChannelsOfAPoint) {
  for (const Reach reach : {Reach{1, 1}, {1, 2}, {2, 1}}) {
    for (const auto& [height, width] :
         {std::pair{1, 1}, std::pair{2, 9}, std::pair{7, 8}, std::pair{8, 13}, std::pair{6, 20}}) {
      for (const int channels : {3, 16, 40, 1100}) {
        const DepthwisePlane plane = {height,   width,    reach.stride, reach.dilation,
                                      channels, channels, channels,     16};
        check_wide<float>(plane);
        check_wide<Bf16>(plane);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(DepthwiseKernels, AreWideWithFewStridesAndDilationsAlone) {
  const DepthwisePlane plane = {7, 8, 1, 1, 40, 40, 40, 16};
  EXPECT_TRUE(plane.is_wide());
  const auto changed = [&](const auto& change) {
    DepthwisePlane other = plane;
    change(other);
    return other.is_wide();
  };
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.dilation = 3; }));
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.stride = 3; }));
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.channels = 16; }));
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.weights_step = 8; }));
}

/// The same problem, whose results pass by the caches.
template <class T>
Problem<T> streamed(const Problem<T>& problem) {
  DepthwisePlane plane = problem.plane;
  plane.stores = nn::Stores::kStreamed;
  return Problem<T>(plane);
}

/// What is streamed to the beginning of a line and into the midst of one.
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

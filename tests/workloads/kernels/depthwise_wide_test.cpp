// Wide depthwise kernels against those on 16 channels, which depthwise_kernels_test.cpp compares
// with plain sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/depthwise_trial.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using namespace depthwise;

/// A plane of all channels; weights, like sums, are [C / 16][9][16].
template <class T>
class WideProblem {
 public:
  explicit WideProblem(const DepthwisePlane& plane)
      : plane_(plane),
        src_(wave<T>(plane.height * plane.width * plane.src_step, 0.1)),
        diff_dst_(wave<T>(plane.dst_height() * plane.dst_width() * plane.dst_step, 0.5)),
        weights_(wave<float>(blocks() * kTaps * kBlock, 0.9)) {}

  /// Expects what the kernels on 16 channels give, with GCC the same bits.
  void expect_forward(const nn::DepthwiseKernels<T>& kernels) const {
    std::vector<T> expected(diff_dst_.size());
    const nn::RowRange all = {0, plane_.dst_height()};
    for_blocks([&](const DepthwisePlane& part, std::int64_t first) {
      kernels.forward(src_.data() + first, weights_.data() + first * kTaps, expected.data() + first,
                      part, all);
    });
    for_stores(std::ssize(diff_dst_), [&](const DepthwisePlane& plane, T* dst) {
      for_rows(all.end, [&](nn::RowRange rows) {
        kernels.wide_forward(src_.data(), weights_.data(), dst, plane, rows);
      });
#if defined(__clang__)  // fuses other multiplications with additions in each kernel
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = number(expected[i]);
        ASSERT_NEAR(number(dst[i]), value, 2 * (kFloats + kRounding<T> * std::abs(value))) << i;
      }
#else
      EXPECT_EQ(std::memcmp(dst, expected.data(), expected.size() * sizeof(T)), 0);
#endif
    });
  }

  void expect_gradients(const nn::DepthwiseKernels<T>& kernels) const {
    std::vector<T> expected(src_.size());
    std::vector<double> expected_sums(static_cast<std::size_t>(blocks() * kTaps * kBlock), kBefore);
    for_blocks([&](const DepthwisePlane& part, std::int64_t first) {
      gradients_of_block(kernels, part, first, expected.data(), expected_sums.data());
    });
    for_stores(std::ssize(src_), [&](const DepthwisePlane& plane, T* diff_src) {
      std::vector<double> sums(expected_sums.size(), kBefore);
      for_rows(plane.stride == 1 ? plane.height : plane.dst_height(), [&](nn::RowRange rows) {
        kernels.wide_gradients(src_.data(), diff_dst_.data(), weights_.data(), diff_src, plane,
                               rows, sums.data());
      });
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = number(expected[i]);
        ASSERT_NEAR(number(diff_src[i]), value, 2 * (kFloats + kRounding<T> * std::abs(value)))
            << i;
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::int64_t channel = static_cast<std::int64_t>(i) / kTaps / kBlock * kBlock +
                                     static_cast<std::int64_t>(i) % kBlock;
        if (channel >= plane.channels) continue;
        // Both are sums in float, whose rounding errors are proportional to their size.
        const double value = expected_sums[i];
        ASSERT_NEAR(sums[i], value, 2 * kFloats * std::max(1.0, 0.1 * std::abs(value))) << i;
      }
    });
  }

 private:
  static constexpr std::int64_t kApart = 4;
  std::int64_t blocks() const { return base::ceil_div(plane_.channels, kBlock); }
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
  /// Runs `body` with ordinary and with streaming stores, to the beginning of a cache line and
  /// inside one.
  template <class Body>
  void for_stores(std::int64_t numbers, const Body& body) const {
    const nn::AlignedFloats memory(numbers + 2 * kApart);
    auto* const line = reinterpret_cast<T*>(memory.data());
    for (const nn::Stores stores : {nn::Stores::kCached, nn::Stores::kStreamed}) {
      for (T* const to : {line, line + kApart}) {
        std::fill_n(line, memory.count(), of<T>(kUntouched));
        DepthwisePlane plane = plane_;
        plane.stores = stores;
        body(plane, to);
        // Nothing is written before or after the output.
        for (const T* at = line; at < line + memory.count(); ++at) {
          if (at >= to && at < to + numbers) continue;
          ASSERT_EQ(number(*at), number(of<T>(kUntouched))) << at - line;
        }
      }
    }
  }
  /// In ranges of which some rows are computed together, and some are left over.
  template <class Body>
  void for_rows(std::int64_t count, const Body& body) const {
    const std::int64_t part = 5 * plane_.dilation;
    for (std::int64_t row = 0; row < count; row += part) {
      body(nn::RowRange{row, std::min(row + part, count)});
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

TEST(WideDepthwiseKernels, GoOverAllChannelsOfAPoint) {
  for (const Reach reach : {Reach{1, 1}, {1, 2}, {1, 3}, {2, 1}}) {
    for (const auto& [height, width] :
         {std::pair{1, 1}, std::pair{2, 9}, std::pair{7, 8}, std::pair{14, 5}, std::pair{6, 20}}) {
      for (const int channels : {32, 40, 54, 1100, 2090}) {
        const DepthwisePlane plane = {height,   width,    reach.stride, reach.dilation,
                                      channels, channels, channels,     16};
        check_wide<float>(plane);
        check_wide<Bf16>(plane);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(WideDepthwiseKernels, ServePairsOfChannelsThatFillLines) {
  const DepthwisePlane plane = {7, 8, 1, 1, 40, 40, 40, 16};
  EXPECT_TRUE(plane.is_wide());
  const auto changed = [&](const auto& change) {
    DepthwisePlane other = plane;
    change(other);
    return other.is_wide();
  };
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.stride = 3; }));
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.channels = 16; }));
  const auto of_all = [](int channels) {
    return DepthwisePlane{7, 8, 1, 1, channels, channels, channels, 16}.is_wide();
  };
  EXPECT_FALSE(of_all(30));
  EXPECT_FALSE(of_all(33));
  EXPECT_FALSE(changed([](DepthwisePlane& other) { other.weights_step = 8; }));
  EXPECT_FALSE(of_all(16)) << "of one block";
}

}  // namespace

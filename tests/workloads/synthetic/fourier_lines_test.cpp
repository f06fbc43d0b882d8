// Tests of the transforms of lines against plain sums.
#include "workloads/synthetic/fourier_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "runner/base/thrown_message.h"

namespace synthetic {
namespace {

/// Lines of noise, interleaved, with a gap after each row.
struct Lines {
  Lines(std::size_t elements, std::size_t lanes)
      : stride(lanes + 3), re(elements * stride), im(re.size()) {
    for (std::size_t at = 0; at < re.size(); ++at) {
      re[at] = static_cast<float>(base::normal_of(base::chain({at, 0})));
      im[at] = static_cast<float>(base::normal_of(base::chain({at, 1})));
    }
  }
  LineRows rows() { return {re.data(), im.data(), stride}; }
  std::complex<double> value(std::size_t row, std::size_t lane) const {
    return {re[row * stride + lane], im[row * stride + lane]};
  }
  std::size_t stride;
  std::vector<float> re, im;
};

/// y[k] of a lane.
std::complex<double> plain_sum(const Lines& lines, std::size_t elements, std::size_t lane,
                               std::size_t k) {
  std::complex<double> sum = 0.0;
  for (std::size_t x = 0; x < elements; ++x) {
    const double turn = static_cast<double>(k * x % elements) / static_cast<double>(elements);
    sum += lines.value(x, lane) * std::polar(1.0, -2.0 * std::numbers::pi * turn);
  }
  return sum;
}

TEST(FourierLines, AgreeWithPlainSums) {
  for (const std::size_t lanes : {4, 16}) {
    for (const std::size_t elements :
         {2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 30, 64, 96, 112, 144, 176, 251, 272}) {
      const Lines start(elements, lanes);
      Lines lines = start;
      FourierLines(static_cast<std::int64_t>(elements), lanes).transform(lines.rows());
      // Expected rounding error for sums of this many normal numbers.
      const double near = 16.0 * 0x1p-23 * std::sqrt(static_cast<double>(elements));
      for (std::size_t k = 0; k < elements; ++k) {
        for (const std::size_t lane : {std::size_t{0}, lanes - 1}) {
          ASSERT_LT(std::abs(lines.value(k, lane) - plain_sum(start, elements, lane, k)), near * 4)
              << elements << " " << k;
        }
      }
    }
  }
}

TEST(FourierLines, LeaveWhatIsBetweenTheLines) {
  const Lines start(12, 4);
  Lines lines = start;
  FourierLines(12, 4).transform(lines.rows());
  for (std::size_t row = 0; row < 12; ++row) {
    for (std::size_t lane = 4; lane < lines.stride; ++lane) {
      EXPECT_EQ(lines.value(row, lane), start.value(row, lane));
    }
  }
}

TEST(FourierLines, ComeBackWhenInverted) {
  for (const std::size_t elements : {768, 1152, 3 * 5 * 7 * 16}) {
    const Lines start(elements, 4);
    Lines lines = start;
    FourierLines fourier(static_cast<std::int64_t>(elements), 4);
    fourier.transform(lines.rows());
    fourier.transform({lines.im.data(), lines.re.data(), lines.stride});
    for (std::size_t row = 0; row < elements; ++row) {
      const auto back = lines.value(row, 1) / static_cast<double>(elements);
      ASSERT_LT(std::abs(back - start.value(row, 1)), 4e-6) << elements;
    }
  }
}

TEST(FourierLines, GiveALineTheSameBitsBesideOthers) {
  Lines few(144, 4), many(144, 16);
  for (std::size_t row = 0; row < 144; ++row) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      many.re[row * many.stride + lane + 8] = few.re[row * few.stride + lane];
      many.im[row * many.stride + lane + 8] = few.im[row * few.stride + lane];
    }
  }
  FourierLines(144, 4).transform(few.rows());
  FourierLines(144, 16).transform(many.rows());
  for (std::size_t row = 0; row < 144; ++row) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      ASSERT_EQ(few.value(row, lane), many.value(row, lane + 8));
    }
  }
}

TEST(FourierLines, RefuseWhatTheyCannot) {
  for (const auto& [elements, lanes] : {std::pair<std::int64_t, std::size_t>(0, 4),
                                        {1, 4},
                                        {-8, 4},
                                        {257, 4},
                                        {2 * 509, 4},
                                        {1 << 17, 4},
                                        {16, 0},
                                        {16, 6}}) {
    EXPECT_THAT(base::thrown_message<base::Error>(
                    [&, e = elements, l = lanes] { FourierLines fourier(e, l); }),
                testing::HasSubstr("FourierLines: expected 2 to 65536 elements"));
  }
}

}  // namespace
}  // namespace synthetic

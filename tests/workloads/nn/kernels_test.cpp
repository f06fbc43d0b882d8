// Every instruction set's kernels against plain loops in double precision.
#include "workloads/nn/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using base::InstructionSet;
using nn::Column;

struct Case {
  std::int64_t rows;
  int width;
  std::int64_t stride;
};

const std::vector<Case> kCases = {{1, 16, 16}, {5, 16, 16}, {600, 16, 16}, {49, 8, 8},
                                  {7, 10, 26}, {64, 1, 1},  {9, 16, 48}};

std::vector<const nn::Kernels*> usable_kernels() {
  std::vector<const nn::Kernels*> all;
  for (const auto set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set <= base::usable_instruction_set()) all.push_back(&nn::kernels(set));
  }
  return all;
}

std::vector<float> wave(const Case& c, double phase) {
  std::vector<float> values(static_cast<std::size_t>(c.rows * c.stride));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(3.0 + std::sin(0.7 * static_cast<double>(i) + phase));
  }
  return values;
}

double value(const std::vector<float>& values, const Case& c, std::int64_t row, int lane) {
  return static_cast<double>(values[static_cast<std::size_t>(row * c.stride + lane)]);
}

TEST(Kernels, TakeMomentsInTwoPasses) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const std::vector<float> src = wave(c, 0.1);
      std::vector<double> mean(16), squares(16);
      kernels->moments(src.data(), {c.rows, c.stride, c.width}, mean.data(), squares.data());
      for (int lane = 0; lane < c.width; ++lane) {
        double expected_mean = 0.0, expected = 0.0;
        for (std::int64_t row = 0; row < c.rows; ++row) expected_mean += value(src, c, row, lane);
        expected_mean /= static_cast<double>(c.rows);
        for (std::int64_t row = 0; row < c.rows; ++row)
          expected += std::pow(value(src, c, row, lane) - expected_mean, 2);
        EXPECT_NEAR(mean[static_cast<std::size_t>(lane)], expected_mean, 1e-6);
        EXPECT_NEAR(squares[static_cast<std::size_t>(lane)], expected,
                    1e-5 * static_cast<double>(c.rows));
      }
    }
  }
}

TEST(Kernels, KeepTheVarianceOfValuesFarFromZero) {
  // 10,000 +- 1: sums of squares in single precision would lose it all.
  const Case c = {400, 16, 16};
  std::vector<float> src = wave(c, 0.0);
  for (float& v : src) v += 10000.0F;
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<double> mean(16), squares(16);
    kernels->moments(src.data(), {c.rows, c.stride, c.width}, mean.data(), squares.data());
    double expected_mean = 0.0, expected = 0.0;
    for (std::int64_t row = 0; row < c.rows; ++row) expected_mean += value(src, c, row, 3) / 400.0;
    for (std::int64_t row = 0; row < c.rows; ++row)
      expected += std::pow(value(src, c, row, 3) - expected_mean, 2);
    EXPECT_NEAR(squares[3] / expected, 1.0, 1e-3);
  }
}

TEST(Kernels, NormalizeWithResidualAndRelu) {
  const std::vector<float> mean(16, 3.0F), scale(16, 2.0F), shift(16, 0.25F);
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const std::vector<float> src = wave(c, 0.1), residual = wave(c, 2.0);
      for (const bool relu : {false, true}) {
        for (const bool add : {false, true}) {
          std::vector<float> dst(src.size(), -7.0F);
          kernels->normalize(src.data(), add ? residual.data() : nullptr, dst.data(),
                             {c.rows, c.stride, c.width}, mean.data(), scale.data(), shift.data(),
                             relu);
          for (std::int64_t row = 0; row < c.rows; ++row) {
            for (int lane = 0; lane < c.width; ++lane) {
              double expected = (value(src, c, row, lane) - 3.0) * 2.0 + 0.25 +
                                (add ? value(residual, c, row, lane) : 0.0);
              if (relu) expected = std::max(expected, 0.0);
              EXPECT_NEAR(value(dst, c, row, lane), expected, 1e-5);
            }
            for (std::int64_t lane = c.width; lane < c.stride; ++lane) {
              EXPECT_EQ(dst[static_cast<std::size_t>(row * c.stride + lane)], -7.0F)
                  << "wrote beside the column";
            }
          }
        }
      }
    }
  }
}

TEST(Kernels, PassOnWhatIsNotANumber) {
  // A ReLU or a variance that swallowed it would hide a diverged network behind a finite loss.
  const Case c = {5, 16, 16};
  std::vector<float> src = wave(c, 0.1);
  src[3] = std::nanf("");
  const std::vector<float> mean(16, 3.0F), scale(16, 2.0F), shift(16, 0.25F);
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<float> dst(src.size());
    kernels->normalize(src.data(), nullptr, dst.data(), {c.rows, c.stride, c.width}, mean.data(),
                       scale.data(), shift.data(), true);
    EXPECT_TRUE(std::isnan(dst[3]));
    EXPECT_FALSE(std::isnan(dst[4]));
    std::vector<double> centre(16), squares(16);
    kernels->moments(src.data(), {c.rows, c.stride, c.width}, centre.data(), squares.data());
    EXPECT_TRUE(std::isnan(squares[3]));
  }
}

TEST(Kernels, SumAndApplyMaskedGradients) {
  const std::vector<float> mean(16, 3.0F), slope(16, 1.5F), offset(16, 0.2F), tilt(16, 0.4F);
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const std::vector<float> src = wave(c, 0.1), first = wave(c, 1.0), second = wave(c, 2.0);
      std::vector<float> output = wave(c, 3.0);
      for (float& v : output) v -= 3.0F;
      for (const bool two : {false, true}) {
        for (const bool mask : {false, true}) {
          const nn::GradientSource gradient = {first.data(), two ? second.data() : nullptr,
                                               mask ? output.data() : nullptr};
          const auto g = [&](std::int64_t row, int lane) {
            if (mask && value(output, c, row, lane) <= 0.0) return 0.0;
            return value(first, c, row, lane) + (two ? value(second, c, row, lane) : 0.0);
          };
          const Column column = {c.rows, c.stride, c.width};
          std::vector<double> sum(16), product(16);
          kernels->gradient_sums(src.data(), gradient, column, mean.data(), sum.data(),
                                 product.data());
          std::vector<float> diff(src.size()), diff_residual(src.size());
          kernels->gradient_apply(src.data(), gradient, diff.data(), diff_residual.data(), column,
                                  mean.data(), slope.data(), offset.data(), tilt.data());
          std::vector<double> frozen_sum(16), frozen_product(16);
          std::vector<float> frozen(src.size()), frozen_residual(src.size());
          kernels->gradient_frozen(src.data(), gradient, frozen.data(), frozen_residual.data(),
                                   column, mean.data(), slope.data(), frozen_sum.data(),
                                   frozen_product.data());
          EXPECT_EQ(frozen_sum, sum);
          EXPECT_EQ(frozen_residual, diff_residual);
          for (int lane = 0; lane < c.width; ++lane) {
            double expected_sum = 0.0, expected_product = 0.0;
            for (std::int64_t row = 0; row < c.rows; ++row) {
              const double x = value(src, c, row, lane) - 3.0;
              expected_sum += g(row, lane);
              expected_product += g(row, lane) * x;
              EXPECT_NEAR(value(diff, c, row, lane), 1.5 * g(row, lane) - 0.2 - 0.4 * x, 1e-5);
              EXPECT_NEAR(value(diff_residual, c, row, lane), g(row, lane), 1e-6);
              EXPECT_NEAR(value(frozen, c, row, lane), 1.5 * g(row, lane), 1e-5);
            }
            EXPECT_NEAR(sum[static_cast<std::size_t>(lane)], expected_sum,
                        1e-5 * static_cast<double>(c.rows));
            EXPECT_NEAR(product[static_cast<std::size_t>(lane)], expected_product,
                        1e-5 * static_cast<double>(c.rows));
            EXPECT_NEAR(frozen_product[static_cast<std::size_t>(lane)], expected_product,
                        1e-5 * static_cast<double>(c.rows));
          }
        }
      }
    }
  }
}

TEST(Kernels, MeanAndFillRows) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const std::vector<float> src = wave(c, 0.1);
      std::vector<float> mean(16), filled(src.size());
      const Column column = {c.rows, c.stride, c.width};
      kernels->row_mean(src.data(), column, mean.data());
      kernels->fill_rows(filled.data(), column, mean.data());
      for (int lane = 0; lane < c.width; ++lane) {
        double expected = 0.0;
        for (std::int64_t row = 0; row < c.rows; ++row)
          expected += value(src, c, row, lane) / static_cast<double>(c.rows);
        EXPECT_NEAR(static_cast<double>(mean[static_cast<std::size_t>(lane)]), expected, 1e-5);
        EXPECT_EQ(filled[static_cast<std::size_t>((c.rows - 1) * c.stride + lane)],
                  mean[static_cast<std::size_t>(lane)]);
      }
    }
  }
}

}  // namespace

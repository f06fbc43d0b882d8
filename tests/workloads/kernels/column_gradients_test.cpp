// Kernels for gradients of batch norms, for every instruction set, against plain loops in double
// precision.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "workloads/kernels/column_cases.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using namespace columns;
using nn::Bf16;
using nn::Column;

/// Tests on activations of either type.
template <class T>
class ColumnGradients : public testing::Test {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(ColumnGradients, Types);

/// Operands of a batch norm's backward pass; the flags choose which are present.
template <class T>
struct BackwardCase {
  Case c;
  bool two, masks, gates;
  std::vector<T> src = wave<T>(c, 0.1), first = wave<T>(c, 1.0), second = wave<T>(c, 2.0);
  std::vector<nn::PassedBits> passed = std::vector<nn::PassedBits>(sign_words(c));

  std::vector<float> scale = std::vector<float>(channels(c), 2.0F);
  std::vector<float> shift = std::vector<float>(channels(c), 0.25F);
  nn::Normalization gate = {nullptr, scale.data(), shift.data()};

  BackwardCase(const Case& of_case, bool has_two, bool is_masked, bool is_gated = false)
      : c(of_case), two(has_two), masks(is_masked), gates(is_gated) {
    for (std::size_t row = 0; row < passed.size(); ++row) {
      passed[row] = static_cast<nn::PassedBits>(row * 40503u);
    }
  }
  nn::GradientSource<T> source() const {
    return {first.data(), two ? second.data() : nullptr, masks ? passed.data() : nullptr,
            gates ? &gate : nullptr};
  }
  double g(std::int64_t row, int lane) const {
    if (masks && ((passed[sign_word(c, row, lane)] >> (lane % 16)) & 1) == 0) return 0.0;
    if (gates && (value(src, c, row, lane) - 3.0) * 2.0 + 0.25 <= 0.0) return 0.0;
    return value(first, c, row, lane) + (two ? value(second, c, row, lane) : 0.0);
  }
};

template <class T>
void expect_gradients(const nn::Kernels& all, const BackwardCase<T>& given) {
  const nn::ColumnKernels<T>& kernels = all.on<T>();
  const Case& c = given.c;
  const std::size_t width = channels(c);
  const std::vector<float> mean(width, 3.0F), slope(width, 1.5F), offset(width, 0.2F);
  const std::vector<float> tilt(width, 0.4F);
  const Column column = {c.rows, c.stride, c.width};
  std::vector<double> sum(width), product(width), kept_sum(width), kept_product(width);
  kernels.gradient_sums(given.src.data(), given.source(), nullptr, column, mean.data(), sum.data(),
                        product.data());
  std::vector<T> diff(given.src.size()), kept(given.src.size());
  kernels.gradient_sums(given.src.data(), given.source(), kept.data(), column, mean.data(),
                        kept_sum.data(), kept_product.data());
  kernels.gradient_apply(given.src.data(), given.source(), diff.data(), column, mean.data(),
                         slope.data(), offset.data(), tilt.data());
  std::vector<double> frozen_sum(width), frozen_product(width);
  std::vector<T> frozen(given.src.size()), frozen_residual(given.src.size());
  kernels.gradient_frozen(given.src.data(), given.source(), frozen.data(), frozen_residual.data(),
                          column, mean.data(), slope.data(), frozen_sum.data(),
                          frozen_product.data());
  EXPECT_EQ(frozen_sum, sum);
  const auto rows = static_cast<double>(c.rows);
  for (int lane = 0; lane < c.width; ++lane) {
    double expected_sum = 0.0, expected_product = 0.0, sum_of_kept = 0.0;
    for (std::int64_t row = 0; row < c.rows; ++row) {
      const double x = value(given.src, c, row, lane) - 3.0;
      const double g = given.g(row, lane);
      expected_sum += g;
      expected_product += g * x;
      const double near = 1e-5 + kRoundingError<T> * 10.0;
      EXPECT_NEAR(value(diff, c, row, lane), 1.5 * g - 0.2 - 0.4 * x, near);
      EXPECT_NEAR(value(kept, c, row, lane), g, 1e-6 + kRoundingError<T> * g);
      sum_of_kept += value(kept, c, row, lane);
      EXPECT_NEAR(value(frozen, c, row, lane), 1.5 * g, near);
      EXPECT_EQ(value(frozen_residual, c, row, lane), value(kept, c, row, lane));
    }
    EXPECT_NEAR(sum[static_cast<std::size_t>(lane)], expected_sum, 1e-5 * rows);
    EXPECT_NEAR(kept_sum[static_cast<std::size_t>(lane)], sum_of_kept, 1e-5 * rows);
    EXPECT_NEAR(product[static_cast<std::size_t>(lane)], expected_product, 1e-5 * rows);
    EXPECT_NEAR(kept_product[static_cast<std::size_t>(lane)], expected_product,
                (1e-5 + kRoundingError<T> * 40.0) * rows);
    EXPECT_NEAR(frozen_product[static_cast<std::size_t>(lane)], expected_product, 1e-5 * rows);
  }
}

TYPED_TEST(ColumnGradients, SumAndApplyMaskedGradients) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      for (const bool two : {false, true}) {
        for (const bool masks : {false, true}) {
          expect_gradients(*kernels, BackwardCase<TypeParam>(c, two, masks));
        }
        expect_gradients(*kernels, BackwardCase<TypeParam>(c, two, false, true));
      }
    }
  }
}

TEST(ColumnGradientsOfFloats, SumLongColumnsNearlyAsInDoublePrecision) {
  // If 256 rows were summed in single precision, the total would be off by 2e-8 to 3e-8.
  constexpr double kBound = 1e-8;
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : {Case{4096, 16, 16}, Case{4096, 64, 64}}) {
      const BackwardCase<float> given(c, false, false);
      const std::vector<float> mean(channels(c), 5.0F);
      std::vector<double> sum(channels(c)), product(channels(c));
      kernels->f32.gradient_sums(given.src.data(), given.source(), nullptr,
                                 {c.rows, c.stride, c.width}, mean.data(), sum.data(),
                                 product.data());
      double off = 0.0;
      for (int lane = 0; lane < c.width; ++lane) {
        double expected_sum = 0.0, expected_product = 0.0;
        for (std::int64_t row = 0; row < c.rows; ++row) {
          expected_sum += given.g(row, lane);
          expected_product += given.g(row, lane) * (value(given.src, c, row, lane) - 5.0);
        }
        const auto at = static_cast<std::size_t>(lane);
        off += std::pow(sum[at] / expected_sum - 1.0, 2);
        off += std::pow(product[at] / expected_product - 1.0, 2);
      }
      EXPECT_LT(std::sqrt(off / (2.0 * c.width)), kBound) << c.width;
    }
  }
}

TYPED_TEST(ColumnGradients, WriteGradientsInPlace) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const std::size_t width = channels(c);
      const std::vector<float> mean(width, 3.0F), slope(width, 1.5F), offset(width, 0.2F);
      const std::vector<float> tilt(width, 0.4F);
      BackwardCase<TypeParam> given(c, true, true);
      const Column column = {c.rows, c.stride, c.width};
      const auto& columns = kernels->on<TypeParam>();
      std::vector<double> sum(width), product(width);
      std::vector<TypeParam> diff(given.src.size()), kept(given.src.size());
      const auto sums = [&](TypeParam* where) {
        columns.gradient_sums(given.src.data(), given.source(), where, column, mean.data(),
                              sum.data(), product.data());
      };
      const auto apply = [&](TypeParam* where) {
        columns.gradient_apply(given.src.data(), {kept.data(), nullptr, nullptr}, where, column,
                               mean.data(), slope.data(), offset.data(), tilt.data());
      };
      sums(kept.data());
      apply(diff.data());
      sums(given.second.data());
      apply(given.src.data());
      for (std::int64_t row = 0; row < c.rows; ++row) {
        for (int lane = 0; lane < c.width; ++lane) {
          EXPECT_EQ(value(given.second, c, row, lane), value(kept, c, row, lane));
          EXPECT_EQ(value(given.src, c, row, lane), value(diff, c, row, lane));
        }
      }
    }
  }
}

}  // namespace

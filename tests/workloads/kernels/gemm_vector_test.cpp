// VectorGemm, for every instruction set, against plain sums in double precision: whole and partial
// tiles, rows with gaps between them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/gemm.h"
#include "workloads/kernels/gemm_trial.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using gemm::kInitialResult;
using nn::VectorGemm;

constexpr std::int64_t kRowGap = 3;  // elements after each row

/// Rows, columns, depth.
class MatrixProducts : public testing::TestWithParam<std::tuple<int, int, int>> {
 protected:
  std::vector<float> results() const {
    return std::vector<float>(static_cast<std::size_t>(rows_ * (columns_ + kRowGap)),
                              kInitialResult);
  }
  float& number(std::vector<float>& of, std::int64_t row, std::int64_t column) const {
    return of.at(static_cast<std::size_t>(row * (columns_ + kRowGap) + column));
  }
  /// Expects sums of product(row, column, k) in c, which began as kInitialResult.
  template <class Product>
  void expect_sums(std::vector<float>& c, const Product& product) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t column = 0; column < columns_ + kRowGap; ++column) {
        double sum = column >= columns_ ? double{kInitialResult} : 0.0;
        for (std::int64_t k = 0; column < columns_ && k < depth_; ++k) {
          sum += product(row, column, k);
        }
        ASSERT_NEAR(number(c, row, column), sum,
                    2e-5 * std::sqrt(static_cast<double>(depth_)) + 1e-5)
            << "row " << row << " column " << column;
      }
    }
  }

  const std::int64_t rows_ = std::get<0>(GetParam()), columns_ = std::get<1>(GetParam()),
                     depth_ = std::get<2>(GetParam());
};

TEST_P(MatrixProducts, DotsAreSumsOfProductsOfRows) {
  const std::int64_t stride = depth_ + kRowGap;
  const std::vector<float> a = activations::wave<float>(rows_ * stride, 0.1),
                           b = activations::wave<float>(columns_ * stride, 0.4);
  const auto product = [&](std::int64_t row, std::int64_t column, std::int64_t k) {
    return double{a.at(static_cast<std::size_t>(row * stride + k))} *
           double{b.at(static_cast<std::size_t>(column * stride + k))};
  };
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<float> c = results();
    kernels->vector_gemm.dots({rows_, columns_, depth_}, {a.data(), stride}, {b.data(), stride},
                              {c.data(), columns_ + kRowGap});
    expect_sums(c, product);
  }
}

TEST_P(MatrixProducts, CombinationsAreOfRowsByEitherOrderOfFactors) {
  const std::int64_t stride = columns_ + kRowGap;
  const std::vector<float> a = activations::wave<float>(rows_ * depth_, 0.1),
                           b = activations::wave<float>(depth_ * stride, 0.4);
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const bool by_rows : {true, false}) {
      const std::int64_t a_stride = by_rows ? depth_ : 1, a_step = by_rows ? 1 : rows_;
      const auto product = [&](std::int64_t row, std::int64_t column, std::int64_t k) {
        return double{a.at(static_cast<std::size_t>(row * a_stride + k * a_step))} *
               double{b.at(static_cast<std::size_t>(k * stride + column))};
      };
      std::vector<float> c = results();
      kernels->vector_gemm.combine({rows_, columns_, depth_}, {a.data(), a_stride}, a_step,
                                   {b.data(), stride}, {c.data(), columns_ + kRowGap});
      expect_sums(c, product);
    }
  }
}

/// A sample's forward pass gives the same bits in a batch of any size.
TEST_P(MatrixProducts, DotsOfARowAreTheSameBitsWithoutTheOthers) {
  const std::vector<float> a = activations::wave<float>(rows_ * depth_, 0.1),
                           b = activations::wave<float>(columns_ * depth_, 0.4);
  int set = -1;
  for (const nn::Kernels* kernels : usable_kernels()) {
    ++set;
    std::vector<float> c = results(), alone(static_cast<std::size_t>(columns_));
    kernels->vector_gemm.dots({rows_, columns_, depth_}, {a.data(), depth_}, {b.data(), depth_},
                              {c.data(), columns_ + kRowGap});
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t column = 0; column < columns_; ++column) {
        kernels->vector_gemm.dots({1, 1, depth_}, {a.data() + row * depth_, depth_},
                                  {b.data() + column * depth_, depth_},
                                  {&alone.at(static_cast<std::size_t>(column)), 1});
        ASSERT_EQ(number(c, row, column), alone.at(static_cast<std::size_t>(column)))
            << "row " << row << ", column " << column << ", instruction set " << set;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, MatrixProducts,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(2, 10, 64),
                                         std::tuple(3, 17, 31), std::tuple(4, 64, 16),
                                         std::tuple(5, 130, 33), std::tuple(7, 15, 200),
                                         std::tuple(17, 1100, 40), std::tuple(6, 83, 3000),
                                         std::tuple(2, 70, 53)));

}  // namespace

// Kernels between the layers of perceptrons, for every instruction set and both types, against
// plain loops in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "runner/base/random.h"
#include "workloads/embedding/plain_embedding.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"

namespace {

using nn::Bf16;
using nn::FeatureShape;
using plain::random_values;
using plain::usable_sets;

template <class T>
class FeatureKernels : public testing::Test {};
using Numbers = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(FeatureKernels, Numbers);

/// Tolerance of a result of type T: float sums of up to 256 products below 1, or rounding to eight
/// bits.
template <class T>
double tolerance(double value) {
  return std::is_same_v<T, float> ? 1e-5 : 1e-5 + std::abs(value) / 256.0;
}

template <class T>
double at(const std::vector<T>& values, std::int64_t i) {
  return static_cast<double>(plain::number(values[static_cast<std::size_t>(i)]));
}

constexpr FeatureShape kShapes[] = {{1, 16},  {2, 1},    {4, 4},   {6, 19},  {16, 32},
                                    {17, 16}, {27, 128}, {32, 48}, {33, 50}, {48, 64}};

/// Vectors of a sample: the first separate, the others contiguous.
template <class T>
struct Vectors {
  explicit Vectors(const FeatureShape& shape)
      : first(random_values<T>(static_cast<std::size_t>(shape.width), 1)),
        others(random_values<T>(static_cast<std::size_t>((shape.count - 1) * shape.width), 2)),
        width(shape.width) {}
  double operator()(std::int64_t vector, std::int64_t c) const {
    return vector == 0 ? at(first, c) : at(others, (vector - 1) * width + c);
  }
  std::vector<T> first, others;
  std::int64_t width;
};

TYPED_TEST(FeatureKernels, InteractAsPlainLoopsDo) {
  for (const auto set : usable_sets()) {
    for (const FeatureShape& shape : kShapes) {
      SCOPED_TRACE(std::string(base::to_string(set)) + " " + std::to_string(shape.count) + " x " +
                   std::to_string(shape.width));
      const Vectors<TypeParam> x(shape);
      const std::int64_t outputs = shape.width + shape.count * (shape.count - 1) / 2;
      std::vector<TypeParam> dst(static_cast<std::size_t>(outputs), plain::of<TypeParam>(99.0));
      const nn::AlignedFloats scratch(shape.scratch_floats());
      nn::kernels(set).features<TypeParam>().interact(x.first.data(), x.others.data(), shape,
                                                      dst.data(), scratch.data());
      std::int64_t next = shape.width;
      for (std::int64_t c = 0; c < shape.width; ++c) ASSERT_EQ(at(dst, c), x(0, c));
      for (std::int64_t i = 1; i < shape.count; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          double product = 0.0;
          for (std::int64_t c = 0; c < shape.width; ++c) product += x(i, c) * x(j, c);
          ASSERT_NEAR(at(dst, next++), product, tolerance<TypeParam>(product) * 4) << i << " " << j;
        }
      }
    }
  }
}

TYPED_TEST(FeatureKernels, MaskRowsAndAddThemUp) {
  for (const auto set : usable_sets()) {
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 16}, {33, 19}, {5, 130}, {0, 8}}) {
      SCOPED_TRACE(std::string(base::to_string(set)) + " " + std::to_string(rows) + " x " +
                   std::to_string(columns));
      const auto count = static_cast<std::size_t>(rows * columns);
      const auto dst = random_values<TypeParam>(count, 3),
                 diff = random_values<TypeParam>(count, 4);
      for (const bool masks : {true, false}) {
        std::vector<TypeParam> masked(count, plain::of<TypeParam>(99.0));
        std::vector<float> sums(static_cast<std::size_t>(columns), 99.0F);
        nn::kernels(set).features<TypeParam>().mask_rows(masks ? dst.data() : nullptr, diff.data(),
                                                         masked.data(), rows, columns, sums.data());
        for (std::int64_t c = 0; c < columns; ++c) {
          double sum = 0.0;
          for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t i = row * columns + c;
            const double kept = !masks || at(dst, i) > 0.0 ? at(diff, i) : 0.0;
            ASSERT_EQ(at(masked, i), masks ? kept : 99.0) << row << " " << c;
            sum += kept;
          }
          ASSERT_NEAR(sums[static_cast<std::size_t>(c)], sum, 1e-5) << c;
        }
      }
    }
  }
}

TYPED_TEST(FeatureKernels, ProjectRowsThereAndBack) {
  for (const auto set : usable_sets()) {
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 16}, {33, 19}, {4, 256}}) {
      SCOPED_TRACE(std::string(base::to_string(set)) + " " + std::to_string(rows) + " x " +
                   std::to_string(columns));
      const auto src = random_values<TypeParam>(static_cast<std::size_t>(rows * columns), 5);
      const auto weights = random_values<float>(static_cast<std::size_t>(columns), 6);
      const auto upstream = random_values<float>(static_cast<std::size_t>(rows), 7);
      const auto& kernels = nn::kernels(set).features<TypeParam>();
      std::vector<float> dst(static_cast<std::size_t>(rows), 99.0F);
      std::vector<float> sums(static_cast<std::size_t>(columns), 99.0F);
      std::vector<TypeParam> diff(src.size(), plain::of<TypeParam>(99.0));
      kernels.project_rows(src.data(), weights.data(), rows, columns, dst.data());
      kernels.project_rows_backward(src.data(), weights.data(), upstream.data(), rows, columns,
                                    diff.data(), sums.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        double product = 0.0;
        for (std::int64_t c = 0; c < columns; ++c) {
          product += at(src, row * columns + c) * at(weights, c);
          const double expected = at(upstream, row) * at(weights, c);
          ASSERT_NEAR(at(diff, row * columns + c), expected, tolerance<TypeParam>(expected));
        }
        ASSERT_NEAR(at(dst, row), product, 4e-5) << row;
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        double sum = 0.0;
        for (std::int64_t row = 0; row < rows; ++row) {
          sum += at(upstream, row) * at(src, row * columns + c);
        }
        ASSERT_NEAR(at(sums, c), sum, 2e-5) << c;
      }
    }
  }
}

}  // namespace

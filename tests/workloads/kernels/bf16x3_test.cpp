// bf16x3: splits of floats into three bf16 values, and their products in AMX tiles, against plain
// sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/kernels/gemm_trial.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using gemm::kLanes;
using gemm::kTile;
using nn::Bf16x3Gemm;

constexpr std::int64_t kParts = Bf16x3Gemm::kParts;

const Bf16x3Gemm& bf16x3_gemm() { return tile_kernels().bf16x3_gemm; }

/// Floats of both signs and of all magnitudes within `range` powers of two around 1.
std::vector<float> floats(std::int64_t count, double seed, int range = 8) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double angle = seed + 1.37 * static_cast<double>(i);
    values[i] = static_cast<float>(std::sin(angle) * std::exp2(range * std::cos(0.73 * angle)));
  }
  return values;
}

float lower_of(std::uint32_t word) { return std::bit_cast<float>(word << 16); }
float upper_of(std::uint32_t word) { return std::bit_cast<float>(word & 0xFFFF0000U); }

TEST(FloatParts, AddUpToTheFloats) {
  constexpr std::int64_t kCount = 5, kStep = 24, kStride = 7 * kLanes;
  std::vector<float> lower = floats(kCount * kStep, 0.2, 60);
  lower[0] = 0.0F;
  lower[1] = -0.0F;
  lower[2] = 1.0F + std::numeric_limits<float>::epsilon();
  lower[3] = 16777215.0F;
  const std::vector<float> upper = floats(kCount * kStep, 0.9, 60);
  for (const bool has_upper : {true, false}) {
    std::vector<std::uint32_t> words(kParts * kStride, 7U);
    bf16x3_gemm().split({lower.data(), has_upper ? upper.data() : nullptr, kStep, kCount, 0},
                        words.data(), kStride);
    for (std::int64_t row = 0; row < kCount; ++row) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        float sum_lower = 0.0F, sum_upper = 0.0F;
        for (std::int64_t part = kParts; part-- > 0;) {
          const std::uint32_t word =
              words[static_cast<std::size_t>(part * kStride + row * kLanes + lane)];
          sum_lower += lower_of(word);
          sum_upper += upper_of(word);
        }
        const auto at = static_cast<std::size_t>(row * kStep + lane);
        EXPECT_EQ(sum_lower, lower[at]) << row << " " << lane;
        EXPECT_EQ(sum_upper, has_upper ? upper[at] : 0.0F) << row << " " << lane;
      }
    }
    EXPECT_EQ(words[kCount * kLanes], 7U);  // no more than kCount rows are written
  }
}

TEST(FloatParts, AreTheSameTurned) {
  const std::vector<float> lower = floats(kTile, 0.2), upper = floats(kTile, 0.7);
  const Bf16x3Gemm::Rows rows = {lower.data(), upper.data(), kLanes, kLanes, 0};
  std::vector<std::uint32_t> straight(kParts * kTile), turned(kParts * kTile);
  bf16x3_gemm().split(rows, straight.data(), kTile);
  bf16x3_gemm().split_transposed(rows, turned.data(), kTile);
  for (std::int64_t i = 0; i < kParts * kTile; ++i) {
    const std::int64_t part = i / kTile, row = i % kTile / kLanes, lane = i % kLanes;
    EXPECT_EQ(turned[static_cast<std::size_t>(part * kTile + lane * kLanes + row)],
              straight[static_cast<std::size_t>(i)]);
  }
}

/// Extents of A and B: k has places x steps x 32 elements.
struct Product {
  std::int64_t blocks, panels, places, steps;
  std::int64_t numbers() const { return places * steps * 2 * kLanes; }
  std::int64_t rows() const { return blocks * kLanes; }
  std::int64_t columns() const { return panels * kLanes; }
};

class PartProducts : public testing::Test {
 protected:
  /// Returns C, of rows [rows][numbers] and columns [columns][numbers], in panels of rows of
  /// row_stride floats. C begins as `before`.
  static std::vector<float> sums(const Product& of, const std::vector<float>& rows,
                                 const std::vector<float>& columns, std::int64_t row_stride,
                                 float before) {
    const std::int64_t step_words = kParts * of.rows() * kLanes;
    const nn::AlignedFloats row_words(of.places * of.steps * step_words);
    const nn::AlignedFloats column_words(of.panels * of.places * of.steps * kParts * kTile);
    auto* const row_tiles = reinterpret_cast<std::uint32_t*>(row_words.data());
    auto* const column_tiles = reinterpret_cast<std::uint32_t*>(column_words.data());
    // Elements k and k + 16 of a step are the halves of pair k.
    for (std::int64_t step = 0; step < of.places * of.steps; ++step) {
      const auto number = [&](std::int64_t lane, bool upper) {
        return step * 2 * kLanes + lane + (upper ? kLanes : 0);
      };
      for (std::int64_t row = 0; row < of.rows(); ++row) {
        const float* const from = rows.data() + row * of.numbers();
        bf16x3_gemm().split({from + number(0, false), from + number(0, true), kLanes, 1, 0},
                            row_tiles + step * step_words + row * kLanes, of.rows() * kLanes);
      }
      for (std::int64_t panel = 0; panel < of.panels; ++panel) {
        std::vector<float> halves(2 * kTile);
        for (std::int64_t i = 0; i < 2 * kTile; ++i) {
          const std::int64_t lane = i % kTile / kLanes, column = panel * kLanes + i % kLanes;
          halves[static_cast<std::size_t>(i)] =
              columns[static_cast<std::size_t>(column * of.numbers() + number(lane, i >= kTile))];
        }
        bf16x3_gemm().split({halves.data(), halves.data() + kTile, kLanes, kLanes, 0},
                            column_tiles + (panel * of.places * of.steps + step) * kParts * kTile,
                            kTile);
      }
    }
    std::vector<nn::GemmOffsets> places;
    for (std::int64_t place = 0; place < of.places; ++place) {
      places.push_back({place * of.steps * step_words, place * of.steps * kParts * kTile});
    }
    const std::int64_t panel_stride = of.rows() * row_stride;
    const nn::AlignedFloats made(of.panels * panel_stride);
    std::fill_n(made.data(), made.count(), before);
    bf16x3_gemm().multiply({.a = row_tiles,
                            .b = column_tiles,
                            .b_panel = of.places * of.steps * kParts * kTile,
                            .blocks = of.blocks,
                            .panels = of.panels,
                            .steps = of.steps,
                            .offsets = places.data(),
                            .batch = of.places,
                            .a_step = step_words,
                            .a_part = of.rows() * kLanes},
                           {made.data(), kLanes * row_stride, panel_stride, row_stride},
                           before != 0.0F);
    return {made.data(), made.data() + made.count()};
  }

  /// Each of n additions may be off by half a unit in the last place of the sum of the products'
  /// magnitudes. Errors have random signs, so the total is well below sqrt(n) of them.
  static void expect_sums(const Product& of, float before) {
    const std::vector<float> rows = floats(of.rows() * of.numbers(), 0.3);
    const std::vector<float> columns = floats(of.columns() * of.numbers(), 0.8);
    constexpr std::int64_t kRowStride = 2 * kLanes;
    const std::vector<float> made = sums(of, rows, columns, kRowStride, before);
    for (std::int64_t row = 0; row < of.rows(); ++row) {
      for (std::int64_t column = 0; column < of.columns(); ++column) {
        double sum = before, magnitude = std::abs(before);
        for (std::int64_t i = 0; i < of.numbers(); ++i) {
          const double product = double{rows[static_cast<std::size_t>(row * of.numbers() + i)]} *
                                 columns[static_cast<std::size_t>(column * of.numbers() + i)];
          sum += product;
          magnitude += std::abs(product);
        }
        const std::int64_t at = column / kLanes * of.rows() * kRowStride + row * kRowStride;
        const double unit = magnitude * std::numeric_limits<float>::epsilon();
        EXPECT_NEAR(made[static_cast<std::size_t>(at + column % kLanes)], sum,
                    std::sqrt(of.numbers()) * unit)
            << row << " " << column;
        EXPECT_EQ(made[static_cast<std::size_t>(at + kLanes)], before);  // between rows
      }
    }
  }
};

TEST_F(PartProducts, AreAsPlainSumsHaveThem) {
  for (const Product& of :
       {Product{1, 1, 1, 1}, {2, 2, 1, 3}, {3, 1, 2, 2}, {1, 3, 4, 1}, {5, 4, 9, 2}}) {
    SCOPED_TRACE(testing::Message() << of.blocks << " blocks, " << of.panels << " panels");
    expect_sums(of, 0.0F);
    expect_sums(of, 3.5F);
  }
}

/// The reference sum of floats is rounded after each addition.
TEST_F(PartProducts, AreTwiceAsExactAsSumsOfFloats) {
  const Product of = {2, 2, 1, 23};
  const std::vector<float> rows = floats(of.rows() * of.numbers(), 0.3, 1);
  const std::vector<float> columns = floats(of.columns() * of.numbers(), 0.8, 1);
  const std::vector<float> made = sums(of, rows, columns, kLanes, 0.0F);
  double of_parts = 0.0, of_floats = 0.0;
  for (std::int64_t row = 0; row < of.rows(); ++row) {
    for (std::int64_t column = 0; column < of.columns(); ++column) {
      double exact = 0.0;
      float sum = 0.0F;
      for (std::int64_t i = 0; i < of.numbers(); ++i) {
        const float a = rows[static_cast<std::size_t>(row * of.numbers() + i)];
        const float b = columns[static_cast<std::size_t>(column * of.numbers() + i)];
        exact += double{a} * b;
        sum = std::fma(a, b, sum);
      }
      const std::int64_t at = (column / kLanes * of.rows() + row) * kLanes + column % kLanes;
      of_parts += std::pow(made[static_cast<std::size_t>(at)] - exact, 2);
      of_floats += std::pow(sum - exact, 2);
    }
  }
  EXPECT_LT(4.0 * of_parts, of_floats);  // squares
}

TEST_F(PartProducts, OfWhatIsNotFiniteAreNoNumbersInItsRowAlone) {
  const Product of = {2, 1, 1, 2};
  std::vector<float> rows = floats(of.rows() * of.numbers(), 0.3);
  const std::vector<float> columns = floats(of.columns() * of.numbers(), 0.8);
  rows[static_cast<std::size_t>(3 * of.numbers() + 5)] = std::numeric_limits<float>::infinity();
  rows[static_cast<std::size_t>(20 * of.numbers())] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> made = sums(of, rows, columns, kLanes, 0.0F);
  for (std::int64_t row = 0; row < of.rows(); ++row) {
    for (std::int64_t column = 0; column < of.columns(); ++column) {
      EXPECT_EQ(std::isnan(made[static_cast<std::size_t>(row * kLanes + column)]),
                row == 3 || row == 20);
    }
  }
}

}  // namespace

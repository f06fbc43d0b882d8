// Packed products of bf16 pairs and in AMX tiles through their common interface: batches of
// offsets, blocks, panels and gaps between results, against plain sums in double precision.
#include "workloads/kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/gemm_trial.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using gemm::kInitialResult;
using gemm::kLanes;
using gemm::kTile;
using nn::Bf16;

/// A batch of products with `depth` elements along k each.
struct Shape {
  std::int64_t batch, depth, blocks, panels;
  std::int64_t rows() const { return blocks * kLanes; }
  std::int64_t columns() const { return panels * kLanes; }
};

/// A_i [k][rows] and B_i [k][columns], the layout of activations: one row per k.
struct Factors {
  explicit Factors(const Shape& of)
      : a(activations::wave<Bf16>(of.batch * of.depth * of.rows(), 0.3)),
        b(activations::wave<Bf16>(of.batch * of.depth * of.columns(), 0.8)) {}
  std::vector<Bf16> a, b;
};

/// Packed operands: the products of a batch are in reverse order, with gaps between them.
struct Packed {
  std::vector<std::uint32_t> a, b;
  std::vector<nn::GemmOffsets> offsets;
  nn::GemmOperands operands;
};

constexpr std::int64_t kGapWords = 48;

Packed made_for(const Shape& of, std::int64_t a_words, std::int64_t b_words) {
  Packed packed;
  packed.a.assign(static_cast<std::size_t>(of.batch * (a_words * of.blocks + kGapWords)),
                  0xFFFFFFFF);
  packed.b.assign(static_cast<std::size_t>(of.batch * (b_words * of.panels + kGapWords)),
                  0xFFFFFFFF);
  for (std::int64_t i = 0; i < of.batch; ++i) {
    const std::int64_t place = of.batch - 1 - i;
    packed.offsets.push_back(
        {place * (a_words * of.blocks + kGapWords), place * (b_words * of.panels + kGapWords)});
  }
  packed.operands = {.a = packed.a.data(),
                     .a_block = a_words,
                     .b = packed.b.data(),
                     .b_panel = b_words,
                     .blocks = of.blocks,
                     .panels = of.panels,
                     .offsets = packed.offsets.data(),
                     .batch = of.batch};
  return packed;
}

Packed packed_pairs(const nn::PairGemm& gemm, const Shape& of, const Factors& factors) {
  const std::int64_t words = (of.depth + 1) / 2 * kLanes;
  Packed packed = made_for(of, words, words);
  packed.operands.steps = (of.depth + 1) / 2;
  for (std::int64_t i = 0; i < of.batch; ++i) {
    const auto& [a, b] = packed.offsets[static_cast<std::size_t>(i)];
    gemm.pack({factors.a.data() + i * of.depth * of.rows(), of.rows(), of.depth, of.rows()},
              packed.a.data() + a, words);
    gemm.pack(
        {factors.b.data() + i * of.depth * of.columns(), of.columns(), of.depth, of.columns()},
        packed.b.data() + b, words);
  }
  return packed;
}

Packed packed_tiles(const nn::TileGemm& gemm, const Shape& of, const Factors& factors) {
  constexpr std::int64_t kRows = nn::TileGemm::kRows;
  const std::int64_t steps = base::ceil_div(of.depth, kRows), words = steps * kTile;
  Packed packed = made_for(of, words, words);
  packed.operands.steps = steps;
  for (std::int64_t i = 0; i < of.batch; ++i) {
    const auto& [a, b] = packed.offsets[static_cast<std::size_t>(i)];
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto rows_of = [&](const std::vector<Bf16>& all, std::int64_t width) {
        std::vector<const Bf16*> rows(2 * kRows, nullptr);
        for (std::int64_t k = step * kRows; k < std::min((step + 1) * kRows, of.depth); ++k) {
          rows[static_cast<std::size_t>(k - step * kRows)] =
              all.data() + (i * of.depth + k) * width;
        }
        return rows;
      };
      gemm.pack_transposed(rows_of(factors.a, of.rows()).data(), of.rows(),
                           packed.a.data() + a + step * kTile, words);
      gemm.pack(rows_of(factors.b, of.columns()).data(), of.columns(),
                packed.b.data() + b + step * kTile, words);
    }
  }
  return packed;
}

void expect_sums(nn::GemmMultiply multiply, const Shape& of, const Factors& factors,
                 const Packed& packed, bool add) {
  constexpr std::int64_t kRow = 2 * kLanes;
  const std::int64_t panel = kLanes * kRow + 3, block = of.panels * panel + 5;
  std::vector<float> made(static_cast<std::size_t>(of.blocks * block), float{kInitialResult});
  multiply(packed.operands, {made.data(), block, panel, kRow}, add);
  std::vector<double> expected(made.size(), double{kInitialResult}), size(made.size(), 0.0);
  for (std::int64_t m = 0; m < of.rows(); ++m) {
    for (std::int64_t n = 0; n < of.columns(); ++n) {
      const auto at = static_cast<std::size_t>(m / kLanes * block + n / kLanes * panel +
                                               m % kLanes * kRow + n % kLanes);
      if (!add) expected[at] = 0.0;
      for (std::int64_t k = 0; k < of.batch * of.depth; ++k) {
        const double product =
            activations::number(factors.a[static_cast<std::size_t>(k * of.rows() + m)]) *
            activations::number(factors.b[static_cast<std::size_t>(k * of.columns() + n)]);
        expected[at] += product;
        size[at] += std::abs(product);
      }
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    ASSERT_NEAR(made[i], expected[i], 1e-6 * (size[i] + kInitialResult)) << i;
  }
}

void expect_products(const Shape& of, nn::GemmMultiply multiply, const auto& pack) {
  SCOPED_TRACE(testing::Message() << of.batch << " products of " << of.depth << " elements, "
                                  << of.blocks << " blocks, " << of.panels << " panels");
  const Factors factors(of);
  const Packed packed = pack(of, factors);
  for (const bool add : {false, true}) expect_sums(multiply, of, factors, packed, add);
}

TEST(PairGemm, SumsABatchOfProducts) {
  const nn::PairGemm& gemm = pair_kernels().pair_gemm;
  for (const Shape& of : {Shape{1, 2, 1, 4}, {1, 33, 2, 4}, {5, 7, 1, 4}, {3, 64, 3, 4}}) {
    expect_products(of, gemm.multiply, [&](const Shape& shape, const Factors& factors) {
      return packed_pairs(gemm, shape, factors);
    });
  }
}

TEST(TileGemm, SumsABatchOfProducts) {
  const nn::TileGemm& gemm = tile_kernels().tile_gemm;
  for (const Shape& of :
       {Shape{1, 32, 1, 1}, {1, 90, 2, 2}, {4, 33, 1, 3}, {3, 64, 3, 4}, {2, 5, 2, 4}}) {
    expect_products(of, gemm.multiply, [&](const Shape& shape, const Factors& factors) {
      return packed_tiles(gemm, shape, factors);
    });
  }
}

}  // namespace

// Copies of weights in other layouts: tile by tile against plain loops, whole tensors against
// oneDNN's reorders.
#include "workloads/optimizer/weight_copy.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "runner/base/random.h"
#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/onednn.h"

namespace {

using dnnl::memory;
using nn::Bf16;
using Tag = memory::format_tag;
using Type = memory::data_type;

std::vector<float> noise(std::int64_t count) {
  base::RandomStream random(3, base::Purpose::kGenerate, 0, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-2.0, 2.0));
  return values;
}

std::uint16_t rounded(const nn::Kernels& kernels, float value) {
  Bf16 one;
  kernels.round_to_bf16(&value, &one, 1);
  return one.bits;
}

TEST(WeightTiles, ComeInEachOrder) {
  const std::vector<float> tile = noise(256);
  const auto at = [&](int row, int column) {
    return tile[static_cast<std::size_t>(row * 16 + column)];
  };
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<float> transposed(256);
    kernels->weight_tiles.transpose(tile.data(), transposed.data());
    std::vector<Bf16> rows(256), columns(256);
    kernels->weight_tiles.pair_rows(tile.data(), 16, 16, rows.data(), 32);
    kernels->weight_tiles.pair_columns(tile.data(), columns.data(), 32);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        const auto by_column = static_cast<std::size_t>(column * 16 + row);
        EXPECT_EQ(transposed[by_column], at(row, column));
        const auto in_rows = static_cast<std::size_t>(row / 2 * 32 + column * 2 + row % 2);
        EXPECT_EQ(rows[in_rows].bits, rounded(*kernels, at(row, column)));
        const auto in_columns = static_cast<std::size_t>(column / 2 * 32 + row * 2 + column % 2);
        EXPECT_EQ(columns[in_columns].bits, rounded(*kernels, at(row, column)));
      }
    }
  }
}

TEST(WeightTiles, PairAnOddRowWithZeros) {
  const std::vector<float> tile = noise(48);
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<Bf16> rows(64, Bf16{0xFFFF});
    kernels->weight_tiles.pair_rows(tile.data(), 3, 16, rows.data(), 32);
    for (std::size_t column = 0; column < 16; ++column) {
      EXPECT_EQ(rows[32 + 2 * column].bits, rounded(*kernels, tile[32 + column]));
      EXPECT_EQ(rows[33 + 2 * column].bits, 0);
    }
  }
}

struct Layouts {
  memory::dims dims;
  Tag from;
  Type type;
  Tag to;
};

class Copies : public testing::TestWithParam<Layouts> {};

/// Copied whole, and in pieces that cut tiles.
TEST_P(Copies, AreWhatTheLibraryMakes) {
  const Layouts& layouts = GetParam();
  const memory::desc from(layouts.dims, Type::f32, layouts.from);
  const memory::desc to(layouts.dims, layouts.type, layouts.to);
  const auto count = static_cast<std::int64_t>(from.get_size() / sizeof(float));
  nn::Device device;
  // Via the plain layout, so that the padding of the weights is zero.
  std::int64_t plain_count = 1;
  for (const auto extent : layouts.dims) plain_count *= extent;
  std::vector<float> plain = noise(plain_count), weights(static_cast<std::size_t>(count));
  nn::reorder(device, nn::plain_desc(layouts.dims), plain.data(), from, weights.data());
  std::vector<char> expected(to.get_size());
  nn::reorder(device, from, weights.data(), to, expected.data());
  for (const nn::Kernels* kernels : usable_kernels()) {
    const auto copy = nn::WeightCopy::between(*nn::layout_of(from), *nn::layout_of(to), *kernels);
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(copy->bytes(), static_cast<std::int64_t>(to.get_size()));
    for (const std::int64_t piece : {count, std::int64_t{4096}, std::int64_t{1000}}) {
      std::vector<char> found(to.get_size());
      for (std::int64_t at = 0; at < count; at += piece) {
        copy->update(weights.data(), at, std::min(piece, count - at), found.data());
      }
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0) << piece;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Copies,
    testing::Values(Layouts{{64, 32, 1, 1}, Tag::OIhw16i16o, Type::f32, Tag::IOhw16o16i},
                    Layouts{{32, 48, 3, 3}, Tag::OIhw16i16o, Type::f32, Tag::OIhw16o16i},
                    Layouts{{32, 48, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OIhw8i16o2i},
                    Layouts{{32, 48, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OIhw8o16i2o},
                    Layouts{{64, 32, 1, 1}, Tag::OIhw16i16o, Type::bf16, Tag::IOhw8o16i2o},
                    Layouts{{32, 20, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OIhw8i16o2i},
                    Layouts{{32, 16, 3, 2, 3}, Tag::OIdhw16i16o, Type::bf16, Tag::OIdhw8o16i2o},
                    Layouts{{128, 64, 1, 1}, Tag::OIhw16i16o, Type::bf16, Tag::OhwI16i64o2i},
                    Layouts{{96, 48, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OhwI16i64o2i},
                    Layouts{{64, 32, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OhwI16i32o2i},
                    Layouts{{64, 48, 3, 3}, Tag::OIhw16i16o, Type::bf16, Tag::OIhw16o16i2o},
                    Layouts{{48, 32, 1, 1}, Tag::OIhw16i16o, Type::bf16, Tag::OIhw16o16i2o},
                    Layouts{{128, 48}, Tag::OI16i64o, Type::bf16, Tag::OI8i64o2i},
                    Layouts{{100, 13}, Tag::OI16i64o, Type::bf16, Tag::OI8i64o2i},
                    Layouts{{32, 479}, Tag::OI16i32o, Type::bf16, Tag::OI8i32o2i},
                    Layouts{{64, 3, 7, 7}, Tag::Ohwi16o, Type::bf16, Tag::OhwI16o2i},
                    Layouts{{32, 4, 3, 3}, Tag::Ohwi16o, Type::bf16, Tag::OhwI16o2i}));

TEST(Copies, AreRefusedForLayoutsThatAreNotKnown) {
  const memory::dims dims = {32, 32, 3, 3};
  const memory::desc blocked(dims, Type::f32, Tag::OIhw16i16o);
  const auto exists = [&](const memory::desc& from, const memory::desc& to) {
    return nn::WeightCopy::between(*nn::layout_of(from), *nn::layout_of(to),
                                   *usable_kernels().front())
        .has_value();
  };
  EXPECT_FALSE(exists(nn::plain_desc(dims), blocked));
  EXPECT_FALSE(exists(blocked, nn::plain_desc(dims)));
  EXPECT_FALSE(exists(blocked, memory::desc(dims, Type::f32, Tag::OIhw8i8o)));
  EXPECT_FALSE(exists(blocked, memory::desc({32, 32, 1, 1}, Type::f32, Tag::OIhw16o16i)));
  EXPECT_FALSE(exists(memory::desc(dims, Type::bf16, Tag::OIhw16i16o),
                      memory::desc(dims, Type::bf16, Tag::OIhw8i16o2i)));
}

}  // namespace

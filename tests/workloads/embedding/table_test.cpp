// Sums and updates of an embedding table against plain twins, for every instruction set.
#include "workloads/embedding/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runner/base/error.h"
#include "workloads/embedding/plain_embedding.h"

namespace {

using nn::Bf16;
using nn::EmbeddingTable;
using nn::SparseRule;
using nn::TableOptions;
using nn::TableStorage;
using nn::TableUpdate;
using plain::kRate;
using plain::kSeed;
using plain::usable_sets;
using plain::whole_table;

constexpr std::int64_t kWidths[] = {1, 3, 16, 17, 64, 128, 256};
constexpr TableStorage kStorages[] = {TableStorage::kF32, TableStorage::kSplitBf16};
constexpr std::int64_t kRows = 50, kBags = 33;

std::string name_of(const TableOptions& options) {
  return to_string(options.update) + " " + to_string(options.storage) + " " +
         to_string(options.rule) + " " + base::to_string(options.instruction_set) + " width " +
         std::to_string(options.columns);
}

/// Options for every usable instruction set, both storages and all widths, adapted by `change`.
template <class Change>
std::vector<TableOptions> tables(const Change& change) {
  std::vector<TableOptions> all;
  for (const auto set : usable_sets()) {
    for (const auto storage : kStorages) {
      for (const auto width : kWidths) {
        TableOptions options = whole_table(kRows, width);
        options.instruction_set = set;
        options.storage = storage;
        change(options);
        all.push_back(options);
      }
    }
  }
  return all;
}
std::vector<TableOptions> tables() {
  return tables([](TableOptions&) {});
}

bool can_be(const TableOptions& options) {
  return options.update != TableUpdate::kAtomic || options.storage == TableStorage::kF32;
}

template <class T>
class EmbeddingBags : public testing::Test {};
using Numbers = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(EmbeddingBags, Numbers);

TYPED_TEST(EmbeddingBags, AreSummedInOrderBitForBitAndLeaveOtherColumnsAlone) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (const TableOptions& options : tables()) {
    SCOPED_TRACE(name_of(options));
    EmbeddingTable table(options);
    table.initialize(kSeed);
    std::vector<float> weights = plain::all_rows(table);
    if (options.storage == TableStorage::kSplitBf16) {
      for (float& w : weights) {
        w = std::bit_cast<float>(std::bit_cast<std::uint32_t>(w) & 0xFFFF0000u);
      }
    }
    const std::int64_t width = options.columns, stride = width + 5;
    const TypeParam other = plain::of<TypeParam>(7.0);
    std::vector<TypeParam> out(static_cast<std::size_t>(kBags * stride), other);
    plain::with_threads(3, [&] { table.forward(bags.view(), out.data(), stride); });
    for (std::int64_t n = 0; n < kBags; ++n) {
      for (std::int64_t c = 0; c < stride; ++c) {
        float sum = 0.0F;
        for (auto i = bags.offsets[static_cast<std::size_t>(n)];
             c < width && i < bags.offsets[static_cast<std::size_t>(n + 1)]; ++i) {
          sum +=
              weights[static_cast<std::size_t>(bags.ids[static_cast<std::size_t>(i)] * width + c)];
        }
        const float expected = c < width ? sum : plain::number(other);
        const float found = plain::number(out[static_cast<std::size_t>(n * stride + c)]);
        if (std::is_same_v<TypeParam, float>) {
          ASSERT_EQ(expected, found) << "bag " << n << " column " << c;
        } else {  // one rounding to 8 bits
          ASSERT_NEAR(expected, found, std::abs(expected) / 256) << "bag " << n << " column " << c;
        }
      }
    }
  }
}

TYPED_TEST(EmbeddingBags, UpdateEveryWayAsPlainDoublesDo) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (const auto& [name, update] : nn::table_updates()) {
    for (const TableOptions& options : tables([&](auto& o) { o.update = update; })) {
      if (!can_be(options)) continue;
      SCOPED_TRACE(name_of(options));
      EmbeddingTable table(options);
      table.initialize(kSeed);
      const std::int64_t stride = options.columns + 3;
      const auto gradient =
          plain::random_values<TypeParam>(static_cast<std::size_t>(kBags * stride), kSeed);
      plain::Table<double> twin(table);
      twin.step_each(bags.view(), gradient, stride, kRate);
      plain::with_threads(2, [&] { table.update(bags.view(), gradient.data(), stride, kRate); });
      const auto found = plain::all_rows(table);
      for (std::size_t i = 0; i < found.size(); ++i) {
        // A row has up to 200 lookups, and as many roundings of numbers below 30.
        ASSERT_NEAR(twin.weights[i], static_cast<double>(found[i]), 1e-4) << "element " << i;
      }
    }
  }
}

TYPED_TEST(EmbeddingBags, UpdateWithoutFusedProductsHasTheBitsOfPlainFloats) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (const auto update :
       {TableUpdate::kReference, TableUpdate::kRaceFree, TableUpdate::kSorted}) {
    for (const TableOptions& options : tables([&](auto& o) { o.update = update; })) {
      if (options.instruction_set != base::InstructionSet::kBaseline) continue;
      SCOPED_TRACE(name_of(options));
      EmbeddingTable table(options);
      table.initialize(kSeed);
      const auto gradient =
          plain::random_values<TypeParam>(static_cast<std::size_t>(kBags * options.columns), kSeed);
      plain::Table<float> twin(table);
      const auto rate = static_cast<float>(kRate);
      if (update == TableUpdate::kSorted) {
        twin.step_sums(bags.view(), gradient, options.columns, rate, SparseRule::kSgd, 0.0F);
      } else {
        twin.step_each(bags.view(), gradient, options.columns, rate);
      }
      table.update(bags.view(), gradient.data(), options.columns, kRate);
      EXPECT_EQ(twin.weights, plain::all_rows(table));
    }
  }
}

TYPED_TEST(EmbeddingBags, UpdateWithTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::int64_t kManyRows = 3000, kManyBags = 900;
  const plain::BagList bags = plain::varied_bags(kManyRows, kManyBags, kSeed);
  for (const auto set : usable_sets()) {
    for (const auto update : {TableUpdate::kRaceFree, TableUpdate::kSorted}) {
      TableOptions options = whole_table(kManyRows, 19);
      options.instruction_set = set;
      options.update = update;
      const auto gradient =
          plain::random_values<TypeParam>(static_cast<std::size_t>(kManyBags * 19), kSeed);
      std::vector<std::uint64_t> hashes;
      for (const int threads : {1, 2, 3}) {
        EmbeddingTable table(options);
        table.initialize(kSeed);
        plain::with_threads(threads, [&] {
          for (int step = 0; step < 2; ++step) {
            table.update(bags.view(), gradient.data(), 19, kRate);
          }
        });
        hashes.push_back(table.hash());
      }
      EXPECT_THAT(hashes, testing::Each(hashes.front())) << name_of(options);
    }
  }
}

TYPED_TEST(EmbeddingBags, UpdateFreeOfRacesAsTheReferenceDoesBitForBit) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (TableOptions options : tables()) {
    const auto gradient =
        plain::random_values<TypeParam>(static_cast<std::size_t>(kBags * options.columns), kSeed);
    std::vector<std::vector<float>> found;
    for (const auto update : {TableUpdate::kReference, TableUpdate::kRaceFree}) {
      options.update = update;
      EmbeddingTable table(options);
      table.initialize(kSeed);
      table.update(bags.view(), gradient.data(), options.columns, kRate);
      found.push_back(plain::all_rows(table));
    }
    EXPECT_EQ(found[0], found[1]) << name_of(options);
  }
}

TYPED_TEST(EmbeddingBags, SplitInHalvesTakeTheSameStepsAsWholeFloats) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (const auto rule : {SparseRule::kSgd, SparseRule::kAdagrad, SparseRule::kRowwiseAdagrad}) {
    for (const auto update : {TableUpdate::kReference, TableUpdate::kLocked, TableUpdate::kRaceFree,
                              TableUpdate::kSorted}) {
      if (rule != SparseRule::kSgd && update != TableUpdate::kSorted) continue;
      for (TableOptions options : tables([&](auto& o) { o.update = update, o.rule = rule; })) {
        if (options.storage != TableStorage::kSplitBf16) continue;
        SCOPED_TRACE(name_of(options));
        EmbeddingTable split(options);
        options.storage = TableStorage::kF32;
        EmbeddingTable whole(options);
        EXPECT_EQ(split.memory_bytes(),
                  whole.memory_bytes() + 4 * 2 * (kRows * options.columns % 2));
        split.initialize(kSeed);
        whole.initialize(kSeed);
        plain::with_threads(1, [&] {  // fixes the order of the locked update
          for (std::uint64_t step = 0; step < 3; ++step) {
            const auto gradient = plain::random_values<TypeParam>(
                static_cast<std::size_t>(kBags * options.columns), kSeed + step);
            split.update(bags.view(), gradient.data(), options.columns, kRate);
            whole.update(bags.view(), gradient.data(), options.columns, kRate);
          }
        });
        EXPECT_EQ(plain::all_rows(split), plain::all_rows(whole));
        EXPECT_EQ(split.hash(), whole.hash());
      }
    }
  }
}

TYPED_TEST(EmbeddingBags, UpdateByBothAdagradRulesAsPlainDoublesDo) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  for (const auto rule : {SparseRule::kAdagrad, SparseRule::kRowwiseAdagrad}) {
    for (const auto update : {TableUpdate::kReference, TableUpdate::kSorted}) {
      for (const auto& options : tables([&](auto& o) { o.update = update, o.rule = rule; })) {
        SCOPED_TRACE(name_of(options));
        EmbeddingTable table(options);
        table.initialize(kSeed);
        plain::Table<double> twin(table);
        for (std::uint64_t step = 0; step < 3; ++step) {
          const auto gradient = plain::random_values<TypeParam>(
              static_cast<std::size_t>(kBags * options.columns), kSeed + step);
          twin.step_sums(bags.view(), gradient, options.columns, kRate, rule, options.epsilon);
          table.update(bags.view(), gradient.data(), options.columns, kRate);
        }
        const auto found = plain::all_rows(table);
        const auto state = plain::all_state(table);
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(twin.weights[i], static_cast<double>(found[i]), 1e-5) << "element " << i;
        }
        for (std::size_t i = 0; i < state.size(); ++i) {
          // The sum of 200 gradients has 200 roundings; its square has twice the relative error.
          ASSERT_NEAR(twin.state[i], static_cast<double>(state[i]), 2e-5 * (1.0 + twin.state[i]));
        }
      }
    }
  }
}

TEST(EmbeddingTable, StepsByAdagradAsTheKnownExampleDoes) {
  TableOptions options = whole_table(1, 2);
  options.rule = SparseRule::kAdagrad;
  EmbeddingTable table(options);
  table.write_rows(0, std::vector<float>{1.0F, -2.0F});
  plain::BagList bags;
  bags.add({0});
  const std::vector<float> first = {0.3F, -0.1F}, second = {-0.2F, 0.4F};
  const double kTolerance = 3e-7;  // of floats near 2
  table.update(bags.view(), first.data(), 2, 0.004);
  EXPECT_NEAR(plain::all_rows(table)[0], 0.996, kTolerance);
  EXPECT_NEAR(plain::all_rows(table)[1], -1.996, kTolerance);
  table.update(bags.view(), second.data(), 2, 0.004);
  EXPECT_NEAR(plain::all_rows(table)[0], 0.9982188009, kTolerance);
  EXPECT_NEAR(plain::all_rows(table)[1], -1.9998805703, kTolerance);
}

TEST(EmbeddingTable, AddsTheGradientsOfARowBeforeAdagradSquaresThem) {
  TableOptions options = whole_table(2, 1);
  options.rule = SparseRule::kAdagrad;
  EmbeddingTable table(options);
  plain::BagList bags;
  bags.add({1, 1});
  bags.add({1});
  const std::vector<float> gradient = {1.0F, 2.0F};
  table.update(bags.view(), gradient.data(), 1, 0.5);
  EXPECT_THAT(plain::all_state(table), testing::ElementsAre(0.0F, 16.0F));
  EXPECT_FLOAT_EQ(plain::all_rows(table)[1], -0.5F);
}

TEST(EmbeddingTable, KeepsSmallStepsInTheLowerHalf) {
  TableOptions options = whole_table(1, 1);
  options.storage = TableStorage::kSplitBf16;
  EmbeddingTable table(options);
  table.write_rows(0, std::vector<float>{1.0F});
  plain::BagList bags;
  bags.add({0});
  const float one = 1.0F;
  for (int step = 0; step < 1000; ++step) table.update(bags.view(), &one, 1, 1e-4);
  EXPECT_NEAR(plain::all_rows(table)[0], 0.899983, 1e-6);
  float forward = 0.0F;
  table.forward(bags.view(), &forward, 1);
  EXPECT_EQ(forward, 0.8984375F);
}

TEST(EmbeddingTable, HasShardsOfColumnsThatEqualTheWholeTableBitForBit) {
  const plain::BagList bags = plain::varied_bags(kRows, kBags, kSeed);
  const std::vector<std::pair<std::int64_t, std::int64_t>> shards = {{0, 5}, {5, 64}, {69, 31}};
  constexpr std::int64_t kWidth = 100;
  for (const auto set : usable_sets()) {
    for (const auto storage : kStorages) {
      for (const auto rule : {SparseRule::kSgd, SparseRule::kAdagrad}) {
        TableOptions options = whole_table(kRows, kWidth);
        options.instruction_set = set;
        options.storage = storage;
        options.rule = rule;
        SCOPED_TRACE(name_of(options));
        const auto gradient =
            plain::random_values<float>(static_cast<std::size_t>(kBags * kWidth), kSeed);
        std::vector<float> out(gradient.size()), shard_out(gradient.size());
        EmbeddingTable whole(options);
        whole.initialize(kSeed);
        whole.update(bags.view(), gradient.data(), kWidth, kRate);
        whole.forward(bags.view(), out.data(), kWidth);
        std::uint64_t hash = 0;
        for (const auto& [first, columns] : shards) {
          options.first_column = first;
          options.columns = columns;
          EmbeddingTable shard(options);
          shard.initialize(kSeed);
          shard.update(bags.view(), gradient.data() + first, kWidth, kRate);
          shard.forward(bags.view(), shard_out.data() + first, kWidth);
          hash += shard.hash();
        }
        EXPECT_EQ(out, shard_out);
        EXPECT_EQ(hash, whole.hash());
      }
    }
  }
}

TEST(EmbeddingTable, BeginsWithTheSameUniformNumbersOnEveryInstructionSet) {
  constexpr std::int64_t kManyRows = 1000, kWidth = 70;
  std::vector<std::vector<float>> found;
  for (const auto set : usable_sets()) {
    TableOptions options = whole_table(kManyRows, kWidth);
    options.instruction_set = set;
    EmbeddingTable table(options);
    table.initialize(kSeed);
    found.push_back(plain::all_rows(table));
  }
  EXPECT_THAT(found, testing::Each(found.front()));
  const double bound = std::sqrt(1.0 / kManyRows);
  double sum = 0.0, squares = 0.0;
  for (const float value : found.front()) {
    ASSERT_LE(std::abs(static_cast<double>(value)), bound);
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto count = static_cast<double>(found.front().size());
  EXPECT_NEAR(sum / count, 0.0, 4 * bound / std::sqrt(3.0 * count));
  EXPECT_NEAR(squares / count / (bound * bound), 1.0 / 3.0, 4 * std::sqrt(4.0 / 45.0 / count));
}

TEST(EmbeddingTable, BeginsWithThePhiloxBlocksThatItsKernelsPromise) {
  const TableOptions options = whole_table(9, 200);
  EmbeddingTable table(options);
  table.initialize(kSeed);
  const auto found = plain::all_rows(table);
  const std::uint64_t key =
      base::RandomStream(kSeed, base::Purpose::kWeights, 0, base::hash_name(options.name))
          .next_u64();
  const auto scale = static_cast<float>(std::sqrt(1.0 / 9.0)) * 0x1p-24F;
  for (std::uint32_t row = 0; row < 9; ++row) {
    for (std::uint32_t c = 0; c < 200; ++c) {
      const auto block = base::philox4x32(
          {c / 64 * 16 + c % 16, row, 0, 0},
          {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
      const auto word = static_cast<std::int32_t>(block[c % 64 / 16]);
      const std::int32_t odd = (word >> 8) * 2 + 1;
      ASSERT_EQ(found[row * 200 + c], static_cast<float>(odd) * scale) << row << " " << c;
    }
  }
}

TEST(EmbeddingTable, BeginsOtherwiseForAnotherSeedOrName) {
  TableOptions options = whole_table(20, 16);
  EmbeddingTable table(options);
  options.name = "another table";
  EmbeddingTable other(options);
  table.initialize(kSeed);
  other.initialize(kSeed);
  const auto first = plain::all_rows(table);
  EXPECT_NE(first, plain::all_rows(other));
  table.initialize(kSeed + 1);
  EXPECT_NE(first, plain::all_rows(table));
}

}  // namespace

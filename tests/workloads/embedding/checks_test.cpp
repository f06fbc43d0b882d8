// Checks of embedding tables, reading and writing of rows, and sorting of lookups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runner/base/error.h"
#include "workloads/embedding/plain_embedding.h"
#include "workloads/embedding/row_sort.h"
#include "workloads/embedding/table.h"

namespace {

using nn::EmbeddingTable;
using nn::Lookup;
using nn::SparseRule;
using nn::TableOptions;
using nn::TableStorage;
using nn::TableUpdate;
using plain::whole_table;
using testing::HasSubstr;

template <class Failure, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Failure& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(EmbeddingChecks, NameTableAndPlaceOfABadId) {
  for (const auto set : plain::usable_sets()) {
    TableOptions options = whole_table(10, 4);
    options.instruction_set = set;
    const EmbeddingTable table(options);
    plain::BagList bags;
    for (int n = 0; n < 700; ++n) bags.add({n % 10, 9, 0});
    EXPECT_NO_THROW(table.check(bags.view()));
    for (const std::int32_t bad : {10, -1, std::numeric_limits<std::int32_t>::min()}) {
      for (const std::size_t place : {0, 1500, 2099}) {
        auto broken = bags;
        broken.ids[place] = bad;
        EXPECT_EQ(message_of<base::DataError>([&] { table.check(broken.view()); }),
                  "table a table: the id at position " + std::to_string(place) + " (bag " +
                      std::to_string(place / 3) + ") must be 0..9 as there are 10 rows, got " +
                      std::to_string(bad));
      }
    }
  }
}

TEST(EmbeddingChecks, LeaveAloneIdsThatNoBagHas) {
  const EmbeddingTable table(whole_table(10, 4));
  const std::vector<std::int32_t> ids = {99, 3, 4, -7};
  const std::vector<std::int64_t> offsets = {1, 2, 3};
  EXPECT_NO_THROW(table.check({ids, offsets}));
}

TEST(EmbeddingChecks, RefuseOffsetsThatFallOrLeaveTheIds) {
  const EmbeddingTable table(whole_table(10, 4));
  const std::vector<std::int32_t> ids = {1, 2, 3};
  const auto refusal = [&](const std::vector<std::int64_t>& offsets) {
    return message_of<base::DataError>([&] { table.check({ids, offsets}); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("need an offset"));
  EXPECT_EQ(refusal({0, 4}), "table a table: offset 1 must be 0..3 (ids), got 4");
  EXPECT_EQ(refusal({0, 2, 1}), "table a table: offset 2 must be 2..3 (ids), got 1");
  EXPECT_EQ(refusal({-1, 2}), "table a table: offset 0 must be 0..3 (ids), got -1");
}

std::string refusal_of(const TableOptions& options) {
  return message_of<base::ConfigError>([&] { const EmbeddingTable table(options); });
}

TEST(EmbeddingChecks, RefuseChoicesThatDoNotGoTogether) {
  TableOptions adagrad = whole_table(10, 4);
  adagrad.rule = SparseRule::kAdagrad;
  for (const auto update : {TableUpdate::kLocked, TableUpdate::kAtomic, TableUpdate::kRaceFree}) {
    adagrad.update = update;
    EXPECT_THAT(refusal_of(adagrad), HasSubstr("needs the sum of a row's gradients"));
  }
  TableOptions rowwise = whole_table(10, 4);
  rowwise.rule = SparseRule::kRowwiseAdagrad;
  rowwise.columns = 3;
  EXPECT_EQ(refusal_of(rowwise),
            "table a table: rowwise_adagrad needs all 4 columns of a row, got 3");
  TableOptions atomic = whole_table(10, 4);
  atomic.update = TableUpdate::kAtomic;
  atomic.storage = TableStorage::kSplitBf16;
  EXPECT_THAT(refusal_of(atomic), HasSubstr("needs the storage f32"));
}

TEST(EmbeddingChecks, AcceptTheBestUpdateOfEveryRule) {
  for (const auto& [name, rule] : nn::sparse_rules()) {
    TableOptions options = whole_table(10, 4);
    options.rule = rule;
    for (const auto storage : {TableStorage::kF32, TableStorage::kSplitBf16}) {
      for (const double ids : {1.0, 50.0}) {
        options.storage = storage;
        options.update = nn::best_update(rule, storage, ids);
        EXPECT_NO_THROW(nn::check_options(options)) << name;
      }
    }
  }
}

TEST(EmbeddingChecks, RefuseSizesThatCannotBe) {
  EXPECT_THAT(refusal_of(whole_table(0, 4)), HasSubstr("rows must be 1.."));
  EXPECT_THAT(refusal_of(whole_table(std::int64_t{1} << 31, 4)), HasSubstr("rows must be 1.."));
  EXPECT_THAT(refusal_of(whole_table(1, 0)), HasSubstr("must lie within"));
  TableOptions beyond = whole_table(1, 4);
  beyond.first_column = 1;
  EXPECT_THAT(refusal_of(beyond), HasSubstr("columns 1..5 must lie within the table's 4"));
  TableOptions epsilon = whole_table(1, 4);
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), 0.0, -1.0, 1e-39, 1e39}) {
    epsilon.epsilon = value;
    EXPECT_THAT(refusal_of(epsilon), HasSubstr("epsilon must be between 1.17")) << value;
  }
}

TEST(EmbeddingChecks, TellTheBytesOfATableThatNoMachineHas) {
  const TableOptions options = whole_table(std::int64_t{1} << 30, std::int64_t{1} << 20);
  const auto message = message_of<base::SystemError>([&] { const EmbeddingTable table(options); });
  EXPECT_THAT(message, HasSubstr("table a table: 1073741824 rows of 1048576 columns need "
                                 "4503599627370496 bytes"));
}

TEST(EmbeddingRows, ComeBackAsTheyWereWritten) {
  for (const auto storage : {TableStorage::kF32, TableStorage::kSplitBf16}) {
    TableOptions options = whole_table(12, 5);
    options.storage = storage;
    options.rule = SparseRule::kAdagrad;
    EmbeddingTable table(options);
    const auto rows = plain::random_values<float>(15, 3);
    const auto state = plain::random_values<float>(15, 4);
    table.write_rows(7, rows);
    table.write_state_rows(2, state);
    std::vector<float> found(15);
    table.read_rows(7, found);
    EXPECT_EQ(found, rows);
    table.read_state_rows(2, found);
    EXPECT_EQ(found, state);
    table.read_rows(4, found);
    EXPECT_THAT(found, testing::Each(0.0F));
  }
}

TEST(EmbeddingRows, AreRefusedWhereThereAreNone) {
  EmbeddingTable table(whole_table(12, 5));
  std::vector<float> values(10);
  EXPECT_THAT(message_of<base::ShapeError>([&] { table.read_rows(11, values); }),
              HasSubstr("10 values from row 11 on must be rows of 5 values among 12 rows"));
  EXPECT_THROW(table.write_rows(-1, values), base::ShapeError);
  EXPECT_THROW(table.read_rows(0, std::span(values).first(7)), base::ShapeError);
  EXPECT_THROW(table.write_state_rows(0, values), base::ShapeError);
}

TEST(EmbeddingRows, HaveOneStateEachByRowwiseAdagrad) {
  TableOptions options = whole_table(12, 5);
  options.rule = SparseRule::kRowwiseAdagrad;
  const EmbeddingTable table(options);
  EXPECT_EQ(table.state_columns(), 1);
  EXPECT_EQ(table.memory_bytes(), 4 * (12 * 5 + 12));
}

TEST(EmbeddingRows, ChangeTheHashWithAnyBitAndPlace) {
  EmbeddingTable table(whole_table(4, 2));
  const auto zero = table.hash();
  table.write_rows(1, std::vector<float>{0.0F, 1.0F});
  const auto second = table.hash();
  table.write_rows(1, std::vector<float>{1.0F, 0.0F});
  EXPECT_NE(zero, second);
  EXPECT_NE(second, table.hash());
}

TEST(RowSort, KeepsTheOrderOfLookupsOfARow) {
  base::RandomStream random(5, base::Purpose::kGenerate, 0, 0);
  for (const std::int64_t rows : {1, 2, 3, 1000, 70000, 40000000, 2147483647}) {
    for (const std::size_t count : {0, 1, 10, 3000}) {
      for (const int common : {0, 3}) {
        std::vector<Lookup> lookups(count), spare;
        for (std::size_t i = 0; i < count; ++i) {
          const auto row = random.below(static_cast<std::uint64_t>(rows));
          lookups[i] = {static_cast<std::int32_t>(row >> common << common),
                        static_cast<std::int32_t>(i)};
        }
        auto expected = lookups;
        std::ranges::stable_sort(expected, {}, &Lookup::row);
        const auto sorted = nn::sort_by_row(lookups, spare, rows, common);
        ASSERT_EQ(sorted.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(sorted[i].row, expected[i].row) << rows << " rows, place " << i;
          ASSERT_EQ(sorted[i].bag, expected[i].bag) << rows << " rows, place " << i;
        }
      }
    }
  }
}

}  // namespace

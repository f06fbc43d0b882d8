// Tests that the owners of tables receive the bags of all samples.
#include "workloads/parallel/hybrid/id_exchange.h"

#include <gmock/gmock.h>

#include <string>

#include "runner/base/error.h"
#include "workloads/parallel/hybrid/embedding_layouts.h"

namespace parallel {
namespace {

using testing::Each;
using Ids = ExchangeTest;

/// Bag lengths and ids of any sample of the batch, computable on every rank.
std::int64_t length_at(std::int64_t size, std::size_t table, std::int64_t sample) {
  return size > 0 ? size : (static_cast<std::int64_t>(table) + 3 * sample) % 4;
}
std::int32_t id_at(std::size_t table, std::int64_t sample, std::int64_t i) {
  return static_cast<std::int32_t>(1000 * static_cast<std::int64_t>(table) + 10 * sample + i);
}

struct OwnBags {
  OwnBags(std::int64_t size, std::size_t table, std::int64_t first, std::int64_t count) {
    ids.push_back(-1);  // an id before the first bag
    offsets.push_back(1);
    for (std::int64_t b = first; b < first + count; ++b) {
      for (std::int64_t i = 0; i < length_at(size, table, b); ++i)
        ids.push_back(id_at(table, b, i));
      offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    ids.push_back(-1);  // an id after the last bag
  }
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> offsets;
};

void expect_bags(std::span<const nn::Bags> bags, const Layout& layout, int rank) {
  std::size_t next = 0;
  for (const TableShard& shard : layout.placement.shards) {
    if (shard.rank != rank) continue;
    const auto table = static_cast<std::size_t>(shard.table);
    ASSERT_LT(next, bags.size());
    const nn::Bags& found = bags[next++];
    ASSERT_EQ(found.count(), layout.slices.front().total);
    for (std::int64_t b = 0; b < found.count(); ++b) {
      const std::int64_t begin = found.offsets[static_cast<std::size_t>(b)];
      ASSERT_EQ(found.offsets[static_cast<std::size_t>(b) + 1] - begin,
                length_at(layout.tables[table].bag_size, table, b));
      for (std::int64_t i = 0; i < length_at(layout.tables[table].bag_size, table, b); ++i) {
        ASSERT_EQ(found.ids[static_cast<std::size_t>(begin + i)], id_at(table, b, i));
      }
    }
  }
  EXPECT_EQ(next, bags.size());
}

TEST_F(Ids, BringsBagsOfOneOfManyAndOfVaryingIdsToTheirTables) {
  for (Layout layout : layouts(world_.size())) {
    for (const std::vector<std::int64_t>& kinds :
         {std::vector<std::int64_t>{1}, {50}, {0}, {1, 3, 0}, {2, 1}}) {
      SCOPED_TRACE(layout.name + ", " + std::to_string(kinds.front()));
      const EmbeddingExchangeOptions with =
          options(AlltoallVariant::kAlltoall, nn::Precision::kF32, {});
      std::vector<OwnBags> own;
      std::vector<nn::Bags> local;
      for (std::size_t t = 0; t < layout.tables.size(); ++t) {
        layout.tables[t].bag_size = kinds[t % kinds.size()];
        own.emplace_back(layout.tables[t].bag_size, t, slice(layout).first, slice(layout).count);
      }
      for (const OwnBags& bags : own) local.push_back({bags.ids, bags.offsets});
      const bool vary = std::ranges::any_of(layout.placement.shards, [&](const TableShard& shard) {
        return layout.tables[static_cast<std::size_t>(shard.table)].bag_size == 0;
      });
      EmbeddingExchange exchange = make(layout, with);
      for (int step = 0; step < 2; ++step) {
        traffic() = {};
        const std::int64_t before = counted();
        exchange.start_ids(local);
        for (int i = 0; i < step * 20; ++i) exchange.progress();
        expect_bags(exchange.finish_ids(), layout, world_.rank());
        EXPECT_EQ(traffic().operations, world_.size() == 1 ? 0 : vary ? 2 : 1);
        EXPECT_EQ(traffic().bytes_sent, exchange.ids_bytes_sent());
        EXPECT_EQ(counted() - before, exchange.ids_bytes_sent());
      }
    }
  }
}

TEST_F(Ids, TakesPackedIdsWhereNoSizesVary) {
  const Layout layout = layouts(world_.size()).front();
  std::vector<std::int32_t> ids;
  for (std::size_t table = 0; table < layout.tables.size(); ++table) {
    for (std::int64_t b = 0; b < slice(layout).count; ++b) {
      ids.push_back(id_at(table, slice(layout).first + b, 0));
    }
  }
  EmbeddingExchange exchange = make(layout, options(AlltoallVariant::kAlltoall, {}, {}));
  exchange.start_ids(ids);
  expect_bags(exchange.finish_ids(), layout, world_.rank());
  EXPECT_THROW(exchange.start_ids(std::span(ids).first(ids.size() - 1)), base::Error);
}

TEST_F(Ids, KeepsBagsWhileTheNextOnesAreUnderWay) {
  const Layout layout = layouts(world_.size()).front();
  EmbeddingExchange exchange = make(layout, options(AlltoallVariant::kAlltoall, {}, {}));
  const auto ids = static_cast<std::size_t>(slice(layout).count) * layout.tables.size();
  exchange.start_ids(std::vector<std::int32_t>(ids, 1));
  const auto bags = exchange.finish_ids();
  exchange.start_ids(std::vector<std::int32_t>(ids, 2));
  for (const nn::Bags& one : bags) EXPECT_THAT(one.ids, Each(1));
  for (const nn::Bags& one : exchange.finish_ids()) EXPECT_THAT(one.ids, Each(2));
}

TEST_F(Ids, RefusesBagsOfOtherSizes) {
  Layout layout = layouts(world_.size()).front();
  for (TableSpec& table : layout.tables) table.bag_size = 2;
  EmbeddingExchange exchange = make(layout, options(AlltoallVariant::kAlltoall, {}, {}));
  std::vector<OwnBags> own;
  std::vector<nn::Bags> local;
  for (std::size_t t = 0; t < layout.tables.size(); ++t) {
    own.emplace_back(t == 4 ? 3 : 2, t, slice(layout).first, slice(layout).count);
  }
  for (const OwnBags& bags : own) local.push_back({bags.ids, bags.offsets});
  EXPECT_THROW(exchange.start_ids(local), base::Error);
}

}  // namespace
}  // namespace parallel

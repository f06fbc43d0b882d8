// Tests of exchanged table outputs and gradients against those of one rank, and of the numbers of
// operations and bytes.
#include "workloads/parallel/hybrid/embedding_exchange.h"

#include <gmock/gmock.h>

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/hybrid/embedding_layouts.h"
#include "workloads/parallel/node_memory.h"

namespace parallel {
namespace {

using nn::Bf16;
using nn::Precision;

constexpr AlltoallVariant kVariants[] = {AlltoallVariant::kScatterList, AlltoallVariant::kScatter,
                                         AlltoallVariant::kAlltoall};

template <class T>
T stored(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return Bf16{plain::bf16_bits(value)};
  }
}

/// The reference matrix: a value for each sample and each column of all tables side by side.
float value_at(std::int64_t sample, std::int64_t column, double phase) {
  return static_cast<float>(
      std::sin(0.7 * static_cast<double>(sample) + 1.3 * static_cast<double>(column) + phase));
}

class Exchange : public ExchangeTest {
 protected:
  /// [samples, owned columns] of the reference matrix.
  template <class T>
  std::vector<T> owned_part(const Layout& layout, double phase, bool rounds) const {
    std::vector<T> owned;
    for (std::int64_t b = 0; b < slice(layout).total; ++b) {
      for (const TableShard& shard : layout.placement.shards) {
        if (shard.rank != world_.rank()) continue;
        const std::int64_t first = layout.first_of(shard.table) + shard.first_column;
        for (std::int64_t c = first; c < first + shard.columns; ++c) {
          const float value = value_at(b, c, phase);
          owned.push_back(stored<T>(rounds ? plain::to_bf16(value) : value));
        }
      }
    }
    return owned;
  }
  /// [own samples, all columns]; `untouched` in columns of replicated tables.
  template <class T>
  std::vector<T> sample_part(const Layout& layout, double phase, bool rounds,
                             std::optional<float> untouched) const {
    std::vector<T> part;
    const nn::PassSlice& own = slice(layout);
    for (std::int64_t b = own.first; b < own.first + own.count; ++b) {
      std::int64_t c = 0;
      for (int table = 0; table < static_cast<int>(layout.tables.size()); ++table) {
        const std::int64_t end = c + layout.tables[static_cast<std::size_t>(table)].width;
        for (; c < end; ++c) {
          const float value = value_at(b, c, phase);
          part.push_back(stored<T>(untouched && layout.is_replicated(table) ? *untouched
                                   : rounds                                 ? plain::to_bf16(value)
                                                                            : value));
        }
      }
    }
    return part;
  }

  template <class T>
  static std::vector<float> floats(const std::vector<T>& values) {
    std::vector<float> floats;
    for (const T value : values) floats.push_back(nn::as_float(value));
    return floats;
  }

  template <class T>
  void expect_twin(const Layout& layout, AlltoallVariant variant, Precision payload);
};

template <class T>
void Exchange::expect_twin(const Layout& layout, AlltoallVariant variant, Precision payload) {
  SCOPED_TRACE(layout.name + ", " + to_string(variant) + ", " + nn::to_string(payload));
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  const bool rounds = kIsFloat && payload == Precision::kBf16;
  constexpr float kUntouched = 0.75F;
  EmbeddingExchange exchange =
      make(layout, options(variant, kIsFloat ? Precision::kF32 : Precision::kBf16, payload));
  EXPECT_EQ(exchange.owned_columns(), layout.owned_columns(world_.rank()));
  EXPECT_EQ(exchange.value_columns(), layout.width());
  for (const double step : {0.0, 0.5}) {  // the second step reuses buffers
    std::vector<T> owned = owned_part<T>(layout, step, false);
    std::vector<T> value(static_cast<std::size_t>(slice(layout).count * layout.width()),
                         stored<T>(kUntouched));
    std::int64_t before = counted();
    exchange.start_forward(owned.data());
    exchange.progress();
    exchange.finish_forward(value.data());
    EXPECT_EQ(floats(value), floats(sample_part<T>(layout, step, rounds, kUntouched)));
    EXPECT_EQ(counted() - before, exchange.forward_bytes_sent());

    std::vector<T> gradient = sample_part<T>(layout, step + 0.1, false, {});
    std::fill(owned.begin(), owned.end(), stored<T>(kUntouched));
    before = counted();
    exchange.start_backward(gradient.data(), owned.data());
    std::fill(gradient.begin(), gradient.end(), stored<T>(kUntouched));  // may change now
    exchange.progress();
    exchange.template finish_backward<T>();
    EXPECT_EQ(floats(owned), floats(owned_part<T>(layout, step + 0.1, rounds)));
    EXPECT_EQ(counted() - before, exchange.backward_bytes_sent());
  }
}

TEST_F(Exchange, BringsOutputsToSamplesAndGradientsBackInEveryVariant) {
  for (const Layout& layout : layouts(world_.size())) {
    for (const AlltoallVariant variant : kVariants) {
      expect_twin<float>(layout, variant, Precision::kF32);
      expect_twin<float>(layout, variant, Precision::kBf16);
      expect_twin<Bf16>(layout, variant, Precision::kBf16);
      expect_twin<Bf16>(layout, variant, Precision::kF32);
    }
  }
}

TEST_F(Exchange, TakesOneOperationPerShardPerRankOrOneInAll) {
  for (const Layout& layout : layouts(world_.size())) {
    std::vector<std::int64_t> owners;
    for (const TableShard& shard : layout.placement.shards) {
      if (owners.empty() || owners.back() != shard.rank) owners.push_back(shard.rank);
    }
    const int expected[] = {static_cast<int>(layout.placement.shards.size()),
                            static_cast<int>(owners.size()), 1};
    std::vector<float> value(static_cast<std::size_t>(slice(layout).count * layout.width()));
    for (const AlltoallVariant variant : kVariants) {
      SCOPED_TRACE(layout.name + ", " + to_string(variant));
      EmbeddingExchange exchange = make(layout, options(variant, Precision::kF32, Precision::kF32));
      std::vector<float> owned = owned_part<float>(layout, 0.0, false);
      const int operations = world_.size() == 1 ? 0 : expected[static_cast<int>(variant)];
      EXPECT_EQ(exchange.operations(), expected[static_cast<int>(variant)]);
      traffic() = {};
      exchange.start_forward(owned.data());
      exchange.finish_forward(value.data());
      EXPECT_EQ(traffic().operations, operations);
      EXPECT_EQ(traffic().bytes_sent, exchange.forward_bytes_sent());
      traffic() = {};
      exchange.start_backward(value.data(), owned.data());
      exchange.finish_backward<float>();
      EXPECT_EQ(traffic().operations, operations);
      EXPECT_EQ(traffic().bytes_sent, exchange.backward_bytes_sent());
    }
  }
}

/// The paper's configurations with fewer rows and a smaller batch: for S tables of E columns and a
/// batch of N, each of R ranks sends S N E 4 / R * (R - 1) / R bytes in each direction.
TEST_F(Exchange, SendsTheBytesOfTheFormula) {
  struct Configuration {
    std::int64_t tables, columns, lookups;
  };
  const std::int64_t ranks = world_.size();
  for (const auto& [tables, columns, lookups] :
       {Configuration{8, 64, 50}, Configuration{64, 256, 100}, Configuration{26, 128, 1}}) {
    if (tables % ranks != 0) continue;  // the formula is for even shares
    const std::int64_t batch = 2 * ranks;
    PlacementOptions placing;
    placing.ranks = world_.size();
    Layout layout;
    layout.tables.assign(static_cast<std::size_t>(tables), {"t", 100, columns, lookups});
    layout.placement = place_tables(layout.tables, placing);
    layout.slices = slice_pass(batch, world_.size());
    const EmbeddingExchangeOptions with = options(AlltoallVariant::kAlltoall, Precision::kF32, {});
    EmbeddingExchange exchange = make(layout, with);
    const std::int64_t expected = tables * batch * columns * 4 / ranks * (ranks - 1) / ranks;
    std::vector<float> owned = owned_part<float>(layout, 0.0, false);
    std::vector<float> value(static_cast<std::size_t>(slice(layout).count * layout.width()));
    traffic() = {};
    exchange.start_forward(owned.data());
    exchange.finish_forward(value.data());
    EXPECT_EQ(traffic().bytes_sent, expected);
    exchange.start_backward(value.data(), owned.data());
    exchange.finish_backward<float>();
    EXPECT_EQ(traffic().bytes_sent, 2 * expected);
    const std::vector<std::int32_t> ids(
        static_cast<std::size_t>(tables * lookups * slice(layout).count));
    traffic() = {};
    exchange.start_ids(ids);
    exchange.finish_ids();
    EXPECT_EQ(traffic().bytes_sent, tables * batch * lookups * 4 / ranks * (ranks - 1) / ranks);
    EXPECT_EQ(traffic().operations, ranks == 1 ? 0 : 1);
  }
}

TEST_F(Exchange, SendsHalfOfTheBytesInBf16) {
  const Layout layout = layouts(world_.size()).front();
  const auto whole =
      make(layout, options(AlltoallVariant::kAlltoall, Precision::kF32, Precision::kF32));
  const auto half =
      make(layout, options(AlltoallVariant::kAlltoall, Precision::kF32, Precision::kBf16));
  EXPECT_EQ(2 * half.forward_bytes_sent(), whole.forward_bytes_sent());
  EXPECT_EQ(2 * half.backward_bytes_sent(), whole.backward_bytes_sent());
  EXPECT_EQ(whole.forward_bytes_sent() > 0, world_.size() > 1);
}

TEST_F(Exchange, IsLocalOnOneRankThatRoundsAndReplicatesNothing) {
  const auto variant = AlltoallVariant::kAlltoall;
  std::vector<Layout> all = layouts(world_.size());
  const bool alone = world_.size() == 1;
  EXPECT_EQ(make(all[0], options(variant, Precision::kF32, Precision::kF32)).is_local(), alone);
  EXPECT_EQ(make(all[0], options(variant, Precision::kBf16, Precision::kBf16)).is_local(), alone);
  EXPECT_FALSE(make(all[0], options(variant, Precision::kF32, Precision::kBf16)).is_local());
  EXPECT_FALSE(make(all[3], options(variant, Precision::kF32, Precision::kF32)).is_local());
  std::ranges::reverse(all[4].placement.shards);
  EXPECT_FALSE(make(all[4], options(variant, Precision::kF32, Precision::kF32)).is_local());
}

TEST_F(Exchange, FinishesInProgressWhatTheOthersHaveSent) {
  const Layout layout = layouts(world_.size()).front();
  for (const AlltoallVariant variant : kVariants) {
    EmbeddingExchange exchange = make(layout, options(variant, Precision::kF32, Precision::kF32));
    const std::vector<float> owned = owned_part<float>(layout, 0.0, false);
    std::vector<float> value(static_cast<std::size_t>(slice(layout).count * layout.width()));
    exchange.start_forward(owned.data());
    while (exchange.is_under_way()) exchange.progress();
    const std::uint64_t waits = world_.activity().look().count;
    exchange.finish_forward(value.data());
    EXPECT_EQ(world_.activity().look().count, waits);  // did not wait
    EXPECT_EQ(value, sample_part<float>(layout, 0.0, false, {}));
  }
}

/// The activity of a rank shows a call while it waits for values of other ranks.
TEST_F(Exchange, ShowsThatItWaits) {
  if (world_.size() == 1) return;
  const Layout layout = layouts(world_.size()).front();
  EmbeddingExchange exchange = make(layout, options(AlltoallVariant::kAlltoall, {}, {}));
  const std::vector<float> owned = owned_part<float>(layout, 0.0, false);
  std::vector<float> value(static_cast<std::size_t>(slice(layout).count * layout.width()));
  exchange.start_forward(owned.data());
  const std::uint64_t before = world_.activity().look().count;
  exchange.finish_forward(value.data());
  EXPECT_GT(world_.activity().look().count, before);
  EXPECT_EQ(world_.activity().look().call, nullptr);
}

TEST_F(Exchange, GoesOnBesideAnExchangeOfGradients) {
  base::FakeClock clock;
  telemetry::Telemetry telemetry(clock);
  const Layout layout = layouts(world_.size()).front();
  EmbeddingExchange exchange(world_, telemetry, layout.tables, layout.placement, layout.slices,
                             options(AlltoallVariant::kScatter, Precision::kF32, {}));
  const runner::Communicator node = world_.split(world_.rank(), 0);  // one rank: sums use MPI
  NodeMemory memory(node);
  const std::span<float> gradients = memory.own_block(1000);
  GradientExchange sums(world_, node, telemetry, memory.blocks_of_all(), {.piece_floats = 100});
  std::ranges::fill(gradients, 1.0F);
  const std::vector<float> values = sample_part<float>(layout, 0.0, false, {});
  std::vector<float> owned(owned_part<float>(layout, 0.0, false).size());
  const auto total = [&] { return telemetry.count(telemetry::Counter::kExchangeTotalNs); };

  clock.nanoseconds += 3;  // nothing is under way
  exchange.start_backward(values.data(), owned.data());
  sums.begin();
  sums.gradients_ready(500);
  clock.nanoseconds += 5;  // both
  EXPECT_EQ(total(), world_.size() > 1 ? 5 : 0);
  sums.gradients_ready(1000);
  sums.finish();
  clock.nanoseconds += 7;  // only the embeddings
  exchange.finish_backward<float>();
  EXPECT_EQ(total(), world_.size() > 1 ? 12 : 0);
  clock.nanoseconds += 9;
  EXPECT_EQ(total(), world_.size() > 1 ? 12 : 0);
  EXPECT_EQ(owned, owned_part<float>(layout, 0.0, false));
  for (const float sum : sums.sums()) EXPECT_EQ(sum, static_cast<float>(world_.size()));
}

TEST_F(Exchange, RefusesCallsOutOfTurnAndOtherValues) {
  const Layout layout = layouts(world_.size()).front();
  EmbeddingExchange exchange = make(layout, options(AlltoallVariant::kAlltoall, {}, {}));
  std::vector<float> owned = owned_part<float>(layout, 0.0, false);
  std::vector<float> value(static_cast<std::size_t>(slice(layout).count * layout.width()));
  EXPECT_THROW(exchange.finish_forward(value.data()), base::Error);
  EXPECT_THROW(exchange.finish_ids(), base::Error);
  EXPECT_THROW(exchange.start_forward(static_cast<const Bf16*>(nullptr)), base::Error);
  exchange.start_forward(owned.data());
  EXPECT_THROW(exchange.start_backward(value.data(), owned.data()), base::Error);
  exchange.finish_forward(value.data());
  EXPECT_EQ(value, sample_part<float>(layout, 0.0, false, {}));
}

TEST_F(Exchange, RefusesWhatDoesNotTile) {
  const auto with = options(AlltoallVariant::kAlltoall, {}, {});
  Layout layout = layouts(world_.size()).front();
  layout.slices.back().count += 1;
  EXPECT_THROW(make(layout, with), base::ShapeError);
  layout = layouts(world_.size()).front();
  layout.placement.shards.front().columns -= 8;
  EXPECT_THROW(make(layout, with), base::ShapeError);
  layout = layouts(world_.size()).front();
  layout.placement.shards.back().rank = world_.size();
  EXPECT_THROW(make(layout, with), base::ShapeError);
}

TEST(AlltoallVariants, HaveTheNamesOfThePaper) {
  std::vector<std::string> names;
  for (const auto& [name, variant] : alltoall_variants()) {
    EXPECT_EQ(name, to_string(variant));
    names.push_back(name);
  }
  EXPECT_THAT(names, testing::ElementsAre("scatter_list", "scatter", "alltoall"));
}

}  // namespace
}  // namespace parallel

// Tests of packs that are read once and go round a ring of nodes.
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <span>

#include "runner/base/error.h"
#include "runner/stop_signals.h"
#include "staging/node_plan.h"
#include "staging/pack_file.h"
#include "staging/pipeline_fixture.h"

namespace staging {
namespace {

class ScatterOnRanks : public PipelineOnRanks {
 protected:
  bool is_alone() const { return world_->size() == 1; }
  /// All ranks need all packs, and share out their reading.
  Route route_round() const { return {world_, shares_of(*list_, all_packs(), world_->size())}; }
  std::int64_t sum(std::int64_t value) const {
    std::vector<std::int64_t> values = {value};
    world_->allreduce_sum(std::span(values));
    return values[0];
  }
};

TEST_F(ScatterOnRanks, ReadsEachPackOnceInTheJob) {
  if (is_alone()) return;
  for (const PipelineLimits limits : {PipelineLimits{1, 1}, {4, 2}}) {
    begin_set();
    source_->reads = 0;
    const auto moved = run(route_round(), limits);
    ASSERT_TRUE(moved);
    expect_whole();
    EXPECT_EQ(sum(source_->reads), kSamples);
    EXPECT_EQ(sum(moved->source_bytes), list_->bytes());
    EXPECT_EQ(moved->copied_bytes, list_->bytes());
    std::int64_t images = 0;
    for (const std::int64_t number : all_packs()) images += image_bytes(*list_, number);
    EXPECT_EQ(sum(moved->network_bytes), (world_->size() - 1) * images);
  }
}

TEST_F(ScatterOnRanks, WorksWhereSomeRanksReadMoreThanOthersOrNothing) {
  if (is_alone()) return;
  Route route{world_,
              std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(world_->size()))};
  for (const std::int64_t number : all_packs()) {
    route.packs[static_cast<std::size_t>(number % 5 == 0 ? world_->size() - 1 : 0)].push_back(
        number);
  }
  begin_set();
  ASSERT_TRUE(run(route, {2, 1}));
  expect_whole();
  begin_set();
  for (auto& packs : route.packs) packs.clear();
  const auto moved = run(route, {2, 1});  // nothing is missing
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->copied_bytes, 0);
}

TEST_F(ScatterOnRanks, EndsTogetherWhenOneRankIsToldTo) {
  if (is_alone()) return;
  begin_set();
  const runner::StopSignals signals;
  std::atomic<bool> is_told = world_->rank() != world_->size() - 1;
  source_->at_read = [&](std::int64_t) {
    if (!is_told.exchange(true)) std::raise(SIGTERM);
  };
  EXPECT_FALSE(run(route_round(), {1, 1}));
  EXPECT_LT(sum(source_->reads), kSamples);
  expect_no_parts();
  world_->barrier();
}

}  // namespace
}  // namespace staging

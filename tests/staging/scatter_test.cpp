// Tests of packs that are read once and go round a ring of nodes.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

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
  std::unique_ptr<Pipeline> begin(const PackStore& copy, const PipelineLimits& limits) {
    return std::make_unique<Pipeline>(*source_, *list_, copy, route_round(), limits, Writing{},
                                      Watch{activity_, runner::is_told_to_end}, OnFailure::kGoOn);
  }
  /// Each rank looks after it at moments of its own.
  void poll_to_the_end(Pipeline& pipeline) const {
    bool is_done = false;
    for (int step = 0; world_->allreduce_min(std::int64_t{is_done}) == 0; ++step) {
      if (step % (world_->rank() + 1) == 0) {
        is_done = pipeline.poll() == Pipeline::Progress::kDone;
      }
    }
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

TEST_F(ScatterOnRanks, GoesRoundWheneverRanksLookAfterIt) {
  if (is_alone()) return;
  for (const PipelineLimits limits : {PipelineLimits{1, 1}, {4, 2}}) {
    begin_set();
    source_->reads = 0;
    const PackStore copy = store();
    const auto pipeline = begin(copy, limits);
    poll_to_the_end(*pipeline);
    expect_whole();
    EXPECT_EQ(sum(source_->reads), kSamples);
    EXPECT_EQ(pipeline->moved().copied_bytes, list_->bytes());
    EXPECT_EQ(pipeline->failure(), "");
  }
}

TEST_F(ScatterOnRanks, WaitsForNothingThatIsNotReadYet) {
  if (is_alone()) return;
  begin_set();
  std::atomic<bool> is_open = false;
  source_->at_read = [&is_open](std::int64_t) { is_open.wait(false); };
  const PackStore copy = store();
  const auto pipeline = begin(copy, {2, 1});
  for (int look = 0; look < 100; ++look) {
    EXPECT_EQ(pipeline->poll(), Pipeline::Progress::kUnderWay);
  }
  EXPECT_EQ(pipeline->shifts(), 0);
  is_open = true;
  is_open.notify_all();
  poll_to_the_end(*pipeline);
  expect_whole();
}

TEST_F(ScatterOnRanks, EndsEarlyWithoutAMessageUnderWay) {
  if (is_alone()) return;
  for (const std::int64_t least : {0, 1, 2, 9}) {
    begin_set();
    const PackStore copy = store();
    {
      const auto pipeline = begin(copy, {2, 1});
      // Rank 0 is ahead of the others, by as much as they let it.
      const bool is_pair = world_->size() == 2;
      const std::int64_t reached = is_pair ? least : std::min<std::int64_t>(least, 1);
      const std::int64_t mine =
          world_->rank() == 0 ? reached : std::max<std::int64_t>(is_pair ? reached - 1 : 0, 0);
      while (pipeline->shifts() < mine) pipeline->poll();
      const std::int64_t furthest = world_->allreduce_max(pipeline->shifts());
      EXPECT_GE(furthest, reached);
      pipeline->end_after(furthest);
      EXPECT_EQ(pipeline->shifts(), furthest);
    }
    expect_no_parts();
    // What were left of it would arrive in place of what is sent now.
    begin_set();
    ASSERT_TRUE(run(route_round(), {2, 1}));
    expect_whole();
  }
}

TEST_F(ScatterOnRanks, LeavesOutOnAllRanksWhatOneCannotRead) {
  if (is_alone()) return;
  begin_set();
  source_->at_read = [](std::int64_t index) {
    if (index == 0) throw base::DataError("file 0: damaged");
  };
  const PackStore copy = store();
  const auto pipeline = begin(copy, {2, 1});
  poll_to_the_end(*pipeline);
  EXPECT_FALSE(std::filesystem::exists(copy.path(0)));
  for (std::int64_t number = 1; number < list_->count(); ++number) {
    ASSERT_EQ(copy.find_damage(number), "");
  }
  EXPECT_EQ(pipeline->failure(), world_->rank() == 0 ? "file 0: damaged" : "");
  expect_no_parts();
}

TEST_F(ScatterOnRanks, PassesOnWhatOneRankCannotWrite) {
  if (is_alone()) return;
  begin_set();
  const PackStore copy = store();
  const bool is_last = world_->rank() == world_->size() - 1;
  if (is_last) std::filesystem::remove_all(folder_of_rank());
  const auto pipeline = begin(copy, {2, 1});
  poll_to_the_end(*pipeline);
  EXPECT_EQ(sum(pipeline->moved().source_bytes), list_->bytes());
  if (is_last) {
    EXPECT_EQ(pipeline->moved().copied_bytes, 0);
    EXPECT_THAT(pipeline->failure(), testing::HasSubstr("pack-"));
  } else {
    expect_whole();
    EXPECT_EQ(pipeline->failure(), "");
  }
}

TEST_F(ScatterOnRanks, LeavesOutPacksThatArriveDamaged) {
  if (world_->size() != 2) return;
  begin_set();
  const Route route = route_round();
  if (world_->rank() == 0) {  // sends nothing but zeros and one other byte
    const std::size_t rounds = std::max(route.packs[0].size(), route.packs[1].size());
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto room_for = [&](std::size_t rank) {
        const auto& packs = route.packs[rank];
        const std::int64_t bytes = round < packs.size() ? image_bytes(*list_, packs[round]) : 0;
        return std::vector<std::byte>(static_cast<std::size_t>(bytes));
      };
      std::vector<std::byte> sent = room_for(0), received = room_for(1);
      if (!sent.empty()) sent.back() = std::byte{1};
      world_->start_shift(sent, 1, received, 1).wait();
    }
    return;
  }
  const PackStore copy = store();
  const auto pipeline = begin(copy, {2, 1});
  while (pipeline->poll() == Pipeline::Progress::kUnderWay) continue;
  for (const std::int64_t number : route.packs[0]) {
    EXPECT_FALSE(std::filesystem::exists(copy.path(number)));
  }
  for (const std::int64_t number : route.packs[1]) ASSERT_EQ(copy.find_damage(number), "");
  EXPECT_THAT(pipeline->failure(), testing::AllOf(testing::HasSubstr("from another node"),
                                                  testing::HasSubstr("more such)")));
}

}  // namespace
}  // namespace staging

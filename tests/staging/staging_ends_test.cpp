// Tests of staging that ends before all is copied: too little space, signals, damaged sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "runner/agreed_error.h"
#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "runner/stop_signals.h"
#include "staging/stage.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

using testing::HasSubstr;

TEST_F(StagingOnRanks, RefusesOnEveryRankWhatDoesNotFit) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(4);
  source->claimed_bytes = std::int64_t{1} << 55;
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] {
                stage_on(topology, source, {{0, 4}});
              }),
              HasSubstr("staging needs 144115188"));
  EXPECT_TRUE(fs::is_empty(directory(topology)));  // not a byte was written
  EXPECT_EQ(source->reads, 0);
}

TEST_F(StagingOnRanks, RefusesSetsThatFitAloneButNotTogether) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(4);
  fs::create_directories(directory(topology));
  // Two thirds of the space per set, as claimed sizes only.
  source->claimed_bytes = static_cast<std::int64_t>(fs::space(directory(topology)).available / 6);
  const auto another = std::make_shared<MemoryDataset>(source->size());
  another->claimed_bytes = source->claimed_bytes;
  another->mtime_ns = 6;
  ASSERT_TRUE(
      fit_together({plan_staging(*source, {{0, 4}}, world_, topology, directory(topology))}));
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] {
                Staging({{"one", source, {{0, 4}}}, {"other", another, {{0, 4}}}},
                        {StagingMode::kShard, directory(topology)}, place(topology))
                    .copy();
              }),
              HasSubstr("staging needs"));
  EXPECT_EQ(source->reads, 0);
}

TEST_F(StagingOnRanks, LeavesNothingBehindWhenOneRankIsToldToEnd) {
  const runner::Topology topology = nodes(2);
  const auto first = std::make_shared<MemoryDataset>(20);
  const auto second = std::make_shared<MemoryDataset>(100);
  const runner::StopSignals signals;
  // Once: a third one within a stall of seconds would end the process.
  std::atomic<bool> is_told = world_.rank() != world_.size() - 1;
  second->at_read = [&] {
    if (!is_told.exchange(true)) raise(SIGTERM);
  };
  try {
    Staging({{"first", first, {{0, 20}}}, {"second", second, {{0, 100}}}},
            {StagingMode::kShard, directory(topology)}, place(topology))
        .copy();
    ADD_FAILURE() << "went on";
  } catch (const runner::AgreedError& e) {
    EXPECT_EQ(e.code(), base::ExitCode::kStopped);
  }
  std::vector<std::int64_t> reads = {first->reads};
  world_.allreduce_sum(std::span(reads));
  EXPECT_GT(reads[0], 0);  // the first set was complete
  world_.barrier();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

TEST_F(StagingOnRanks, EndsBetweenTwoSamplesOfThePlanWhenOneRankIsToldTo) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(10000);
  const runner::StopSignals signals;
  const bool is_told = world_.rank() == world_.size() - 1;
  std::int64_t stamps = 0;
  source->at_stamp = [&] {
    if (++stamps == 3 && is_told) raise(SIGTERM);
  };
  try {
    stage_on(topology, source, {{0, 10000}});
    ADD_FAILURE() << "went on";
  } catch (const runner::AgreedError& e) {
    EXPECT_EQ(e.code(), base::ExitCode::kStopped);
  }
  if (is_told) {
    EXPECT_EQ(stamps, 3);
  }
  EXPECT_EQ(source->reads, 0);
}

TEST_F(StagingOnRanks, LeavesNothingBehindWhenASourceIsDamaged) {
  if (world_.size() > 1) return;  // with more ranks the job is aborted
  const runner::Topology topology = nodes(1);
  const auto first = std::make_shared<MemoryDataset>(20),
             kept = std::make_shared<MemoryDataset>(10),
             damaged = std::make_shared<MemoryDataset>(30);
  damaged->at_read = [] { throw base::DataError("damaged"); };
  const std::string whole = die_with_copy(topology, 10, Afterwards::kKeep);
  EXPECT_EQ(base::thrown_message<base::DataError>([&] {
              Staging({{"first", first, {{0, 20}}},
                       {"kept", kept, {{0, 10}}},
                       {"damaged", damaged, {{0, 30}}}},
                      {StagingMode::kShard, directory(topology)}, place(topology))
                  .copy();
            }),
            base::host_name() + ": damaged");
  EXPECT_TRUE(fs::exists(whole + "/manifest.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory(topology)), {}), 1);
}

}  // namespace
}  // namespace staging

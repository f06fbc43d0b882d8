// Tests of node-local staging on several ranks: what is copied, verified, reused and refused.
#include "staging/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/agreed_error.h"
#include "runner/base/thrown_message.h"
#include "runner/stop_signals.h"
#include "staging/collective_open.h"
#include "staging/dataset/encode.h"
#include "staging/manifest.h"
#include "staging/pack_list.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

using testing::HasSubstr;

TEST_F(StagingOnRanks, GivesTheBytesOfTheSourceOnEveryRank) {
  for (const int node_count : {1, 2}) {
    const runner::Topology topology = nodes(node_count);
    const auto source = std::make_shared<MemoryDataset>(100);
    const Copied staged = stage_on(topology, source, {{0, 100}});
    EXPECT_EQ(staged.data->size(), 100);
    for (std::int64_t i = 0; i < 100; ++i) {
      ASSERT_EQ(content(*staged.data, i), MemoryDataset::text(i));
      ASSERT_EQ(staged.data->label(i), i % 2);
      ASSERT_EQ(staged.data->bytes(i), static_cast<std::int64_t>(MemoryDataset::text(i).size()));
    }
    EXPECT_EQ(staged.data->name(17), "sample 17");
    EXPECT_EQ(staged.data->class_names(), source->class_names());
    staged.leave();
    EXPECT_TRUE(fs::is_empty(directory(topology)));
    world_.barrier();
  }
}

TEST_F(StagingOnRanks, CopiesOnlyWhatTheNodesRanksNeed) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  // Rank r needs ten samples; the samples of consecutive ranks overlap by five.
  const std::int64_t first = world_.rank() * 5;
  const Copied staged = stage_on(topology, source, {{first, first + 10}, {90, 91}});
  std::int64_t begin = 100, end = 0;
  for (int r = 0; r < world_.size(); ++r) {
    if (topology.node_of_rank[static_cast<std::size_t>(r)] != topology.node_index) continue;
    begin = std::min<std::int64_t>(begin, r * 5);
    end = std::max<std::int64_t>(end, r * 5 + 10);
  }
  const PackList packs = list_packs(*source, world_);
  const Ranges needed = {{begin, end}, {90, 91}};
  const auto copied = packs.packs_of(needed);
  ASSERT_LT(std::ssize(copied), packs.count());
  std::int64_t samples = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    if (std::find(copied.begin(), copied.end(), packs.pack_of(i)) != copied.end()) {
      ++samples;
      EXPECT_EQ(content(*staged.data, i), MemoryDataset::text(i));
    } else {
      EXPECT_THAT(base::thrown_message<base::Error>([&] { content(*staged.data, i); }),
                  HasSubstr("was not staged on this node"));
    }
  }
  std::int64_t reads = source->reads;
  std::vector<std::int64_t> sum = {reads};
  topology.node.allreduce_sum(std::span(sum));
  EXPECT_EQ(sum[0], samples);  // each sample of the needed packs once per node
}

TEST_F(StagingOnRanks, TellsWhatItDid) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const nlohmann::json first = stage_on(topology, source, {{0, 100}}).facts;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < 100; ++i) bytes += source->bytes(i);
  EXPECT_EQ(first["mode"], "shard");
  EXPECT_EQ(first["nodes"], topology.node_count);
  EXPECT_EQ(first["samples"], 100 * topology.node_count);
  EXPECT_EQ(first["bytes"], bytes * topology.node_count);
  EXPECT_EQ(first["files"], world_.size());
  EXPECT_EQ(first["source_reads"], 100 * topology.node_count);
  EXPECT_EQ(first["reused_nodes"], 0);
  EXPECT_EQ(first["reused"], false);
  EXPECT_GT(first["seconds"], 0.0);
  const nlohmann::json& rates = first["bytes_per_second"];
  EXPECT_GT(rates["min"], 0.0);
  EXPECT_LE(rates["min"], rates["mean"]);
  EXPECT_LE(rates["mean"], rates["max"]);
}

TEST_F(StagingOnRanks, UsesAWholeSetOfTheSameIdentityAgain) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied first = stage_on(topology, source, {{0, 50}});
  source->reads = 0;
  const Copied again = stage_on(topology, source, {{0, 50}});
  EXPECT_EQ(source->reads, 0);
  EXPECT_EQ(again.facts["reused_nodes"], topology.node_count);
  EXPECT_EQ(again.facts["source_reads"], 0);
  EXPECT_EQ(again.facts["reused"], true);
  EXPECT_EQ(content(*again.data, 49), MemoryDataset::text(49));

  // Another modification time or samples of other packs give another set.
  source->mtime_ns = 6;
  EXPECT_EQ(stage_on(topology, source, {{0, 50}}).facts["reused_nodes"], 0);
  EXPECT_EQ(stage_on(topology, source, {{0, 10}}).facts["reused_nodes"], 0);
}

TEST_F(StagingOnRanks, TrustsNoSetThatIsNotWhole) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const std::string set = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep).directory;
  const auto expect_copied_again = [&] {
    const Copied staged = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep);
    EXPECT_EQ(staged.facts["reused_nodes"], 0);
    EXPECT_EQ(content(*staged.data, 49), MemoryDataset::text(49));
  };
  on_leader(world_, [&] { fs::resize_file(set + "/part-0.bin", 10); });
  expect_copied_again();
  on_leader(world_, [&] {
    std::fstream index(set + "/part-0.index", std::ios::in | std::ios::out | std::ios::binary);
    index.seekp(3);
    index.put('!');
  });
  expect_copied_again();
}

/// Overwrites all samples of a set.
void overwrite_samples(const std::string& set) {
  for (const auto& part : read_manifest(set).parts) {
    std::fstream file(set + "/" + part.file, std::ios::in | std::ios::out | std::ios::binary);
    for (std::int64_t i = 0; i < part.bytes; ++i) file.put('?');
  }
}

TEST_F(StagingOnRanks, ReadsTheSourceWhereTheCopyIsDamagedAndSaysSo) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied staged = stage_on(topology, source, {{0, 50}});
  on_leader(world_, [&] { overwrite_samples(staged.directory); });
  EXPECT_TRUE(staged.data->take_remarks().empty());
  EXPECT_EQ(content(*staged.data, 40), MemoryDataset::text(40));
  EXPECT_EQ(content(*staged.data, 41), MemoryDataset::text(41));
  const auto remarks = staged.data->take_remarks();
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_THAT(
      remarks[0],
      testing::AllOf(HasSubstr(".bin: offset "), HasSubstr("bytes of sample 40 differ"),
                     HasSubstr("read from sample 40 instead"), HasSubstr("(and 1 more such)")));
  EXPECT_TRUE(staged.data->take_remarks().empty());
}

TEST_F(StagingOnRanks, ReadsTheSourceWhereTheCopyIsCut) {
  const runner::Topology topology = nodes(1);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(50), {{0, 50}});
  on_leader(world_, [&] {
    for (const auto& part : read_manifest(staged.directory).parts) {
      fs::resize_file(staged.directory + "/" + part.file, 0);
    }
  });
  EXPECT_EQ(content(*staged.data, 40), MemoryDataset::text(40));
  EXPECT_EQ(staged.data->take_remarks().size(), 1U);
}

TEST_F(StagingOnRanks, NamesFileAndOffsetOfBytesThatChangedWithTheirSource) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied staged = stage_on(topology, source, {{0, 50}});
  on_leader(world_, [&] { overwrite_samples(staged.directory); });
  source->written_over = "another sample";
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { content(*staged.data, 40); }),
              testing::AllOf(HasSubstr(".bin: offset "), HasSubstr("bytes of sample 40 differ"),
                             HasSubstr("and sample 40 differs from it as well")));
}

TEST_F(StagingOnRanks, CopiesAnewWhereASampleWasFoundDamaged) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied damaged = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep);
  on_leader(world_, [&] {
    std::fstream part(damaged.directory + "/part-0.bin",
                      std::ios::in | std::ios::out | std::ios::binary);
    part.put('?');
    part.flush();
    EXPECT_EQ(content(*damaged.data, 0), MemoryDataset::text(0));
  });
  const Copied again = stage_on(topology, source, {{0, 50}});
  EXPECT_EQ(again.facts["reused_nodes"], 0);
  EXPECT_EQ(content(*again.data, 0), MemoryDataset::text(0));
  EXPECT_FALSE(fs::exists(again.directory + "/damaged"));
}

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
  ASSERT_TRUE(
      fit_together({plan_staging(*source, {{0, 4}}, world_, topology, directory(topology))}));
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] {
                Staging({{"one", source, {{0, 4}}}, {"other", source, {{0, 4}}}},
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
  const bool is_told = world_.rank() == world_.size() - 1;
  second->at_read = [&] {
    if (is_told) raise(SIGTERM);
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
            "damaged");
  EXPECT_TRUE(fs::exists(whole + "/manifest.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory(topology)), {}), 1);
}

TEST_F(StagingOnRanks, FindsAndReplacesADamagedCopyBeforeItsUseWhenToldToVerify) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(50);
  const std::string kept = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep).directory;
  const auto verified = [&] {
    return stage_on(topology, source, {{0, 50}}, Afterwards::kKeep, Reuse::kVerified);
  };
  EXPECT_EQ(verified().facts["reused_nodes"], topology.node_count);
  world_.barrier();
  if (topology.is_node_leader()) overwrite_samples(kept);
  world_.barrier();
  const Copied again = verified();
  EXPECT_EQ(again.facts["reused_nodes"], 0);
  EXPECT_EQ(content(*again.data, 7), MemoryDataset::text(7));
  const auto remarks = again.data->take_remarks();
  EXPECT_EQ(remarks.size(), topology.is_node_leader() ? 1U : 0U);
  for (const std::string& remark : remarks) EXPECT_THAT(remark, HasSubstr("; copied anew"));
}

TEST_F(StagingOnRanks, StagesAnArchiveInFewReads) {
  const std::string path = root_ + "/data.tar";
  on_leader(world_, [&] {
    std::ofstream out(path, std::ios::binary);
    dataset::TarWriter tar(out);
    for (int i = 0; i < 300; ++i) {
      const std::string text = MemoryDataset::text(i);
      tar.add_file("c" + std::to_string(i % 3) + "/" + std::to_string(1000 + i) + ".jpg",
                   std::as_bytes(std::span(text)));
    }
    tar.finish();
  });
  const runner::Topology topology = nodes(1);
  const auto source = open_dataset_collective(world_, path);
  EXPECT_EQ(source->size(), 300);
  const Copied staged = stage_on(topology, source, {{0, 300}});
  EXPECT_LE(staged.facts["source_reads"], 4 * world_.size());
  for (std::int64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(content(*staged.data, i), content(*source, i));
    EXPECT_EQ(staged.data->label(i), source->label(i));
  }
}

TEST_F(StagingOnRanks, FailsToOpenOnEveryRankTogether) {
  EXPECT_THAT(base::thrown_message<runner::AgreedError>(
                  [&] { open_dataset_collective(world_, root_ + "/nothing"); }),
              HasSubstr("/nothing: expected a folder or tar"));
}

}  // namespace
}  // namespace staging

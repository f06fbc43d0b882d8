// Tests of node-local staging on several ranks: what is copied, verified and reused.
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
  for (const std::int64_t number : copied) samples += packs.last(number) - packs[number].first;
  std::vector<std::int64_t> reads = {source->reads};
  topology.node.allreduce_sum(std::span(reads));
  EXPECT_EQ(reads[0], samples);  // each sample of the needed packs once per node
  for (std::int64_t i = 0; i < 100; ++i) {
    source->reads = 0;
    EXPECT_EQ(content(*staged.data, i), MemoryDataset::text(i));
    const bool is_copied =
        std::find(copied.begin(), copied.end(), packs.pack_of(i)) != copied.end();
    EXPECT_EQ(source->reads, is_copied ? 0 : 1);
  }
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

  source->mtime_ns = 6;  // another set
  EXPECT_EQ(stage_on(topology, source, {{0, 50}}).facts["reused_nodes"], 0);
}

TEST_F(StagingOnRanks, ServesOtherRanksAndShardsByTheSameCopy) {
  const runner::Topology two = nodes(2), one = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(100);
  const PackList packs = list_packs(*source, world_);
  const std::int64_t half = packs[packs.count() / 2].first;
  const auto on_node_0 = [&](const Ranges& ranges) {
    const Copied staged = stage_on(one, source, ranges, Afterwards::kKeep);
    return staged.facts["source_reads"].get<std::int64_t>();
  };
  EXPECT_EQ(on_node_0({{0, half}}), half);
  EXPECT_EQ(on_node_0({{half - 1, half}}), 0);   // part of it
  EXPECT_EQ(on_node_0({{0, 100}}), 100 - half);  // the rest
  // With two nodes, the first finds its copy, the second has none.
  const Copied staged = stage_on(two, source, {{0, 100}}, Afterwards::kKeep);
  EXPECT_EQ(staged.facts["source_reads"], two.node_count == 1 ? 0 : 100);
  EXPECT_EQ(staged.facts["reused_nodes"], 1);
}

TEST_F(StagingOnRanks, CopiesOnlyThePacksThatAreNotWhole) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const PackList packs = list_packs(*source, world_);
  ASSERT_GE(packs.count(), 2);
  const std::string set = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep).directory;
  const auto expect_copied_again = [&](std::int64_t number, bool is_told = true) {
    const Copied staged = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep);
    if (world_.rank() == 0 && is_told) {
      EXPECT_THAT(staged.data->take_remarks(),
                  testing::ElementsAre(testing::AllOf(HasSubstr(pack_file_name(number)),
                                                      testing::EndsWith("; copied anew"))));
    }
    EXPECT_EQ(staged.facts["reused_nodes"], 0);
    EXPECT_EQ(staged.facts["source_reads"], packs.last(number) - packs[number].first);
    for (const std::int64_t i : {0, 49}) {
      EXPECT_EQ(content(*staged.data, i), MemoryDataset::text(i));
    }
  };
  on_leader(world_, [&] { fs::resize_file(pack_files(set).front(), 10); });
  expect_copied_again(0);
  on_leader(world_, [&] { fs::remove(pack_files(set).back()); });
  expect_copied_again(packs.count() - 1, false);
  const auto flip = [&](std::int64_t before_end) {
    on_leader(world_, [&] {
      const std::string path = pack_files(set).front();
      std::fstream pack(path, std::ios::in | std::ios::out | std::ios::binary);
      pack.seekg(static_cast<std::streamoff>(fs::file_size(path)) - before_end);
      const int byte = pack.peek();
      pack.seekp(static_cast<std::streamoff>(fs::file_size(path)) - before_end);
      pack.put(static_cast<char>(byte ^ 1));
    });
  };
  flip(20);  // in the trailer
  expect_copied_again(0);
  flip(70);  // among the places of the samples
  expect_copied_again(0);
}

TEST_F(StagingOnRanks, CopiesOnlyWhatAKilledRunHadNotCopied) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const std::string left = die_with_copy(topology, 50);
  on_leader(world_, [&] {
    fs::remove(left + "/manifest.json");
    std::ofstream(pack_files(left).back() + ".part.gone.1.0") << "half";
    fs::remove(pack_files(left)[pack_files(left).size() - 2]);
  });
  const PackList packs = list_packs(*source, world_);
  const std::int64_t last = packs.count() - 1;
  const Copied staged = stage_on(topology, source, {{0, 50}});
  EXPECT_EQ(staged.directory, left);
  EXPECT_EQ(staged.facts["source_reads"], 50 - packs[last].first);
  EXPECT_EQ(std::ssize(pack_files(left)), packs.count());
  EXPECT_TRUE(fs::exists(left + "/manifest.json"));
  EXPECT_EQ(content(*staged.data, 49), MemoryDataset::text(49));
}

TEST_F(StagingOnRanks, ReadsTheSourceWhereTheCopyIsDamagedAndSaysSo) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied staged = stage_on(topology, source, {{0, 50}});
  on_leader(world_, [&] {
    overwrite_samples(staged.directory);
    EXPECT_TRUE(staged.data->take_remarks().empty());
    EXPECT_EQ(content(*staged.data, 40), MemoryDataset::text(40));
    EXPECT_EQ(content(*staged.data, 41), MemoryDataset::text(41));
    EXPECT_THAT(staged.data->take_remarks(),
                testing::ElementsAre(testing::AllOf(
                    HasSubstr("/pack-0000000"), HasSubstr("bytes of sample 40 differ"),
                    HasSubstr("repaired from sample 40"), HasSubstr("(and 1 more such)"))));
    EXPECT_TRUE(staged.data->take_remarks().empty());
  });
  // For all ranks of the node.
  EXPECT_EQ(content(*staged.data, 40), MemoryDataset::text(40));
  EXPECT_TRUE(staged.data->take_remarks().empty());
}

TEST_F(StagingOnRanks, ReadsTheSourceWhereTheCopyIsCut) {
  const runner::Topology topology = nodes(1);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(50), {{0, 50}});
  on_leader(world_, [&] {
    for (const std::string& pack : pack_files(staged.directory)) fs::resize_file(pack, 0);
    EXPECT_EQ(content(*staged.data, 40), MemoryDataset::text(40));
    EXPECT_EQ(staged.data->take_remarks().size(), 1U);
  });
}

TEST_F(StagingOnRanks, NamesFileAndOffsetOfBytesThatChangedWithTheirSource) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied staged = stage_on(topology, source, {{0, 50}});
  on_leader(world_, [&] { overwrite_samples(staged.directory); });
  source->written_over = "another sample";
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { content(*staged.data, 40); }),
              testing::AllOf(HasSubstr("/pack-0000000"), HasSubstr("bytes of sample 40 differ"),
                             HasSubstr("and sample 40 differs from it as well")));
}

TEST_F(StagingOnRanks, RepairsADamagedSampleForLaterRuns) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const Copied damaged = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep);
  on_leader(world_, [&] {
    std::fstream(pack_files(damaged.directory).front(),
                 std::ios::in | std::ios::out | std::ios::binary)
        .put('?');
    EXPECT_EQ(content(*damaged.data, 0), MemoryDataset::text(0));
  });
  const Copied again = stage_on(topology, source, {{0, 50}}, Afterwards::kKeep, Reuse::kVerified);
  EXPECT_EQ(again.facts["reused"], true);
  EXPECT_TRUE(again.data->take_remarks().empty());
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
  if (topology.is_node_leader()) overwrite_samples_of(kept, 1);
  world_.barrier();
  const PackList packs = list_packs(*source, world_);
  const Copied again = verified();
  EXPECT_EQ(again.facts["reused_nodes"], 0);
  EXPECT_EQ(again.facts["source_reads"], (packs.last(1) - packs[1].first) * topology.node_count);
  EXPECT_EQ(content(*again.data, 7), MemoryDataset::text(7));
  const auto remarks = again.data->take_remarks();
  EXPECT_EQ(remarks.size(), topology.is_node_leader() ? 1U : 0U);
  for (const std::string& remark : remarks) EXPECT_THAT(remark, HasSubstr("; copied anew"));
}

TEST_F(StagingOnRanks, CopiesOnceWhatTwoSetsShare) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  Staging staging({{"train", source, {{0, 100}}}, {"validation", source, {{50, 100}}}},
                  {StagingMode::kShard, directory(topology)}, place(topology));
  staging.copy();
  std::vector<std::int64_t> reads = {source->reads};
  world_.allreduce_sum(std::span(reads));
  EXPECT_EQ(reads[0], 100 * topology.node_count);
  EXPECT_EQ(content(*staging.data(1), 70), MemoryDataset::text(70));
  staging.leave();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
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
  const auto files = staged.facts["packs"].get<std::int64_t>();
  // One a pack, and one where a class begins, as its samples are elsewhere in the archive.
  EXPECT_LE(staged.facts["source_reads"], files + 2);
  EXPECT_LT(files, 65);
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

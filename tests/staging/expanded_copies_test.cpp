// Tests of copies of compressed samples: expanded where files state how much that is, and what is
// reported of them.
#include <gmock/gmock.h>

#include <numeric>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/expand.h"
#include "staging/pack_file.h"
#include "staging/pack_list.h"
#include "staging/stage_fixture.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

using dataset::Stated;
using nlohmann::json;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kFiles = 90;

Bytes content_of(std::int64_t index) {
  Bytes content(static_cast<std::size_t>(400 + index * 53));
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<std::byte>(static_cast<std::size_t>(index) + i / 16);
  }
  return content;
}

/// Files of which each is another kind, and what a copy holds of them.
class CompressedFiles final : public dataset::Dataset {
 public:
  CompressedFiles() {
    for (std::int64_t i = 0; i < kFiles; ++i) add(content_of(i), i % 8);
  }
  std::int64_t size() const override { return std::ssize(files); }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::int64_t bytes(std::int64_t index) const override { return std::ssize(file(index)); }
  void read(std::int64_t index, Bytes& out) const override {
    ++reads;
    out = file(index);
  }
  std::string name(std::int64_t index) const override { return "file " + std::to_string(index); }
  Stamp stamp_to_expand(std::int64_t index) const override {
    Stamp found = stamp(index);
    if (lists_all || index % 2 == 0) {
      found.expanded_bytes = dataset::stated_bytes(file(index), most_expanded_bytes()).value_or(0);
    }
    return found;
  }
  std::int64_t most_expanded_bytes() const override { return most_expanded; }
  std::int64_t file_bytes() const { return sum_of(files); }
  std::int64_t held_bytes() const { return sum_of(held); }

  std::vector<Bytes> files, held;
  std::int64_t most_expanded = 1 << 20;
  bool lists_all = true;  ///< else the names of half of them do not say that they are compressed
  mutable std::atomic<std::int64_t> reads{0};

 private:
  static std::int64_t sum_of(const std::vector<Bytes>& all) {
    return std::accumulate(
        all.begin(), all.end(), std::int64_t{0},
        [](std::int64_t sum, const Bytes& one) { return sum + std::ssize(one); });
  }
  const Bytes& file(std::int64_t index) const { return files.at(static_cast<std::size_t>(index)); }

  void add(const Bytes& content, std::int64_t kind) {
    Bytes file = content;
    bool is_expanded = kind < 3;
    if (kind == 0) file = dataset::gzip(content);
    if (kind == 1) file = dataset::zstd(content);
    if (kind == 2) file = dataset::lz4(content);
    if (kind == 3) file = dataset::zstd(content, Stated::kNothing);
    if (kind == 4) file = dataset::lz4(content, Stated::kNothing);
    if (kind == 5) {  // two members, of which the last one is stated
      file = dataset::gzip(content);
      const Bytes again = file;
      file.insert(file.end(), again.begin(), again.end());
    }
    if (kind == 6) {
      file = dataset::zstd(content);
      file.back() ^= std::byte{1};  // its checksum
    }
    held.push_back(is_expanded ? content : file);
    files.push_back(std::move(file));
  }

  std::vector<std::string> names_ = {""};
};

class ExpandedCopies : public StagingOnRanks {
 protected:
  StagingConfig config(const runner::Topology& topology, StagingMode mode,
                       Compressed compressed = Compressed::kExpanded) const {
    StagingConfig config{mode, directory(topology)};
    config.compressed = compressed;
    return config;
  }
  Staging staging_of(const StagingConfig& config, const runner::Topology& topology) const {
    return {{{"set", source_, {{0, kFiles}}}}, config, place(topology)};
  }
  void expect_content(const Staging& staging, const std::vector<Bytes>& expected) const {
    Bytes found;
    for (std::int64_t i = 0; i < kFiles; ++i) {
      staging.data(0)->read(i, found);
      EXPECT_TRUE(found == expected[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(staging.data(0)->bytes(i), std::ssize(found));
    }
  }
  /// Bytes of packs in a folder.
  static std::int64_t bytes_in(const std::string& set) {
    std::int64_t bytes = 0;
    for (const std::string& pack : pack_files(set)) {
      bytes += static_cast<std::int64_t>(fs::file_size(pack));
    }
    return bytes;
  }

  const std::shared_ptr<CompressedFiles> source_ = std::make_shared<CompressedFiles>();
};

TEST_F(ExpandedCopies, HoldWhatFilesStateAndOtherFilesAsTheyAre) {
  for (const StagingMode mode : {StagingMode::kShard, StagingMode::kScatter, StagingMode::kFull}) {
    SCOPED_TRACE(to_string(mode));
    const runner::Topology topology = nodes(world_.size());
    Staging staging = staging_of(config(topology, mode), topology);
    const json whole_plan = staging.plan();
    const json& plan = whole_plan.at("set");
    EXPECT_EQ(plan["bytes"], source_->file_bytes());
    EXPECT_GE(plan["copy_bytes"], source_->held_bytes());
    EXPECT_LT(source_->file_bytes() * 2, source_->held_bytes());
    staging.copy();
    source_->reads = 0;
    expect_content(staging, source_->held);
    EXPECT_EQ(source_->reads, 0);
    const std::int64_t written = bytes_in(plan["directory"]);
    EXPECT_LE(written, plan["bytes_on_disk"]);
    EXPECT_GT(written, source_->held_bytes());
    const json facts = staging.facts().at("set");
    EXPECT_EQ(facts["written_bytes"], written * topology.node_count);
    EXPECT_EQ(facts["memory_bytes"], whole_plan["pipeline"]["memory_bytes"]);
    EXPECT_EQ(whole_plan["pipeline"]["ranks"], 1);
    const bool scatters = mode == StagingMode::kScatter;
    EXPECT_EQ(facts["source_bytes"], source_->file_bytes() * (scatters ? 1 : world_.size()));
    // What travels is compressed, with 16 bytes a sample, and 64 a pack.
    EXPECT_LE(facts["network_bytes"],
              (source_->file_bytes() + 16 * kFiles + 64 * facts["packs"].get<std::int64_t>()) *
                  world_.size());
    EXPECT_EQ(facts["network_bytes"] > 0, scatters && world_.size() > 1);
    staging.leave();
  }
}

TEST_F(ExpandedCopies, TakeNoMoreThanPlannedWhereNamesDoNotTellOfCompression) {
  const runner::Topology topology = nodes(1);
  source_->lists_all = false;
  Staging staging = staging_of(config(topology, StagingMode::kShard), topology);
  const json plan = staging.plan().at("set");
  staging.copy();
  EXPECT_LE(bytes_in(plan["directory"]), plan["bytes_on_disk"]);
  Bytes found;
  for (std::int64_t i = 0; i < kFiles; ++i) {
    staging.data(0)->read(i, found);
    const auto at = static_cast<std::size_t>(i);
    EXPECT_TRUE(found == source_->held[at] || found == source_->files[at]) << i;
  }
  staging.leave();
}

TEST_F(ExpandedCopies, AreSharedByRanksOfANode) {
  const runner::Topology topology = nodes(1);
  Staging staging = staging_of(config(topology, StagingMode::kShard), topology);
  staging.copy();
  expect_content(staging, source_->held);
  staging.leave();
}

TEST_F(ExpandedCopies, ComeWhileTrainingReadsTheSource) {
  const runner::Topology topology = nodes(1);
  StagingConfig overlapping = config(topology, StagingMode::kShard);
  overlapping.overlap = true;
  Staging staging = staging_of(overlapping, topology);
  staging.copy();
  Bytes found;
  for (std::int64_t i = 0; i < kFiles; ++i) {
    staging.data(0)->read(i, found);
    const auto at = static_cast<std::size_t>(i);
    EXPECT_TRUE(found == source_->held[at] || found == source_->files[at]) << i;
  }
  while (!staging.finish(Finish::kIfDone)) continue;
  expect_content(staging, source_->held);
  EXPECT_EQ(staging.facts().at("set")["left_bytes"], 0);
  staging.leave();
}

TEST_F(ExpandedCopies, AreMadeUnlessTheConfigurationKeepsFilesCompressed) {
  const runner::Topology topology = nodes(1);
  StagingConfig kept = config(topology, StagingMode::kShard, Compressed::kKept);
  kept.afterwards = Afterwards::kKeep;
  StagingConfig expanded = config(topology, StagingMode::kShard);
  expanded.afterwards = Afterwards::kKeep;
  std::string first;
  for (int time = 0; time < 2; ++time) {
    Staging as_files = staging_of(kept, topology);
    as_files.copy();
    expect_content(as_files, source_->files);
    const json plan = as_files.plan().at("set");
    EXPECT_EQ(plan["copy_bytes"], plan["bytes"]);
    Staging as_content = staging_of(expanded, topology);
    as_content.copy();
    expect_content(as_content, source_->held);
    EXPECT_NE(as_content.plan().at("set")["identity"], plan["identity"]);
    for (const Staging* staging : {&as_files, &as_content}) {
      EXPECT_EQ(staging->facts().at("set")["reused"], time == 1) << "each is used again";
    }
    as_files.leave();
    as_content.leave();
  }
}

TEST_F(ExpandedCopies, AreVerifiedAndRepairedFromCompressedFiles) {
  const runner::Topology topology = nodes(1);
  StagingConfig kept = config(topology, StagingMode::kShard);
  kept.afterwards = Afterwards::kKeep;
  Staging staging = staging_of(kept, topology);
  staging.copy();
  const std::string set = staging.plan().at("set").at("directory");
  on_leader(world_, [&] { overwrite_samples(set); });
  if (world_.rank() == 0) expect_content(staging, source_->held);
  const auto remarks = staging.data(0)->take_remarks();
  EXPECT_EQ(remarks.empty(), world_.rank() != 0);
  for (const std::string& remark : remarks) EXPECT_THAT(remark, HasSubstr("repaired from file "));
  world_.barrier();
  for (const StagedFolder& found : verify_staged(directory(topology))) {
    EXPECT_EQ(found.damage, "");
    EXPECT_EQ(found.bytes, source_->held_bytes());
  }
  staging.leave();
  kept.reuse = Reuse::kVerified;
  on_leader(world_, [&] { overwrite_samples_of(set, 1); });
  Staging again = staging_of(kept, topology);
  again.copy();
  expect_content(again, source_->held);
  again.leave();
}

TEST_F(ExpandedCopies, AreRefusedBeforeCopyingWhereTheyHaveNoRoom) {
  const runner::Topology topology = nodes(1);
  source_->most_expanded = std::int64_t{1} << 56;
  // A frame that claims a content of 2^55 bytes.
  source_->files[1] = dataset::zstd(Bytes(1 << 20));
  Bytes& claims = source_->files[1];
  claims.resize(64);
  const std::string header("\x28\xb5\x2f\xfd\xe4\0\0\0\0\0\0\x80\0", 13);
  std::memcpy(claims.data(), header.data(), header.size());
  ASSERT_EQ(dataset::stated_bytes(claims, source_->most_expanded), std::int64_t{1} << 55);
  Staging staging = staging_of(config(topology, StagingMode::kShard), topology);
  EXPECT_FALSE(staging.plan()["fits"]);
  EXPECT_THAT(staging.plan()["pipeline"]["refused"].get<std::string>(),
              testing::HasSubstr("/staging/memory_bytes: must hold"));
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] { staging.copy(); }),
              testing::AllOf(HasSubstr("staging needs 3602879"),
                             HasSubstr("; staging.expand=false needs 3602879")));
  EXPECT_EQ(source_->reads, 0);
}

TEST_F(ExpandedCopies, TakeBoundedMemory) {
  const runner::Topology topology = nodes(1);
  StagingConfig tight = config(topology, StagingMode::kShard);
  tight.memory_bytes = 1000;
  Staging staging = staging_of(tight, topology);
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] { staging.copy(); }),
              testing::AllOf(HasSubstr("/staging/memory_bytes: must hold 4 packs of up to "),
                             HasSubstr(" and one of "), HasSubstr(" expanded, ")));
}

}  // namespace
}  // namespace staging

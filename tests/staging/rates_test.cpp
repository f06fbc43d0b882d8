// Tests of the measurement of rates before staging: what it finds, takes and leaves.
#include "staging/rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "staging/folder_speed.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSampleBytes = 1024, kReadMs = 1;

/// A clock that only reading samples moves, on all threads.
class ReadingClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return 1 + ms * 1000000; }
  std::int64_t unix_ms() const override { return ms; }
  mutable std::atomic<std::int64_t> ms{0};
};

/// Samples of 1 KiB, each of which takes 1 ms. Threads may read it.
class SlowDataset final : public dataset::Dataset {
 public:
  SlowDataset(std::int64_t size, const ReadingClock& clock)
      : last(size), size_(size), clock_(clock) {}
  std::int64_t size() const override { return size_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::int64_t bytes(std::int64_t) const override { return kSampleBytes; }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    if (index < first || index >= last) throw base::DataError("a sample that is not needed");
    if (index == broken) throw base::DataError(name(index) + ": cannot be read");
    clock_.ms += kReadMs;
    ++reads;
    out.resize(kSampleBytes);
  }
  std::string name(std::int64_t index) const override { return "sample " + std::to_string(index); }
  std::string path(std::int64_t index) const override { return are_files ? name(index) : ""; }

  mutable std::atomic<std::int64_t> reads{0};
  std::int64_t broken = -1, first = 0, last = 0;
  bool are_files = false;

 private:
  std::int64_t size_;
  const ReadingClock& clock_;
  std::vector<std::string> names_ = {"all"};
};

class RatesOnRanks : public StagingOnRanks {
 protected:
  MeasuredRates measure(const SlowDataset& source, const runner::Topology& topology,
                        double sample_bytes = kSampleBytes) const {
    return measure_rates(
        {source, {{source.first, source.last}}, sample_bytes, root_ + "/near/by", 77}, world_,
        topology, reading_);
  }
  const ReadingClock reading_;
};

TEST_F(RatesOnRanks, ReadTheSourceAloneAndTogether) {
  for (const int count : {1, 2, 4}) {
    const runner::Topology topology = nodes(count);
    SlowDataset source(5000, reading_);
    const MeasuredRates found = measure(source, topology);
    constexpr double kRate = kSampleBytes * 1000.0 / kReadMs;
    EXPECT_NEAR(found.rates.source_of_node, kRate, kRate / 100.0);
    // Nodes end at most a turn of their threads apart.
    EXPECT_NEAR(found.rates.source, kRate * topology.node_count, kRate * topology.node_count / 8.0);
    EXPECT_EQ(found.rates.source_files, 0.0);
    EXPECT_EQ(found.rates.network > 0.0, topology.node_count > 1);
    EXPECT_GT(found.rates.local_write, 0.0);
    EXPECT_GT(found.rates.local_read, 0.0);
    EXPECT_EQ(found.counts.sent_bytes > 0, topology.node_count > 1);
    std::vector<std::int64_t> reads = {source.reads};
    world_.allreduce_sum(std::span(reads));
    EXPECT_EQ(found.counts.source_samples, reads[0]);
    EXPECT_EQ(found.counts.source_bytes, reads[0] * kSampleBytes);
    // 0.4 s by one node, 0.8 s by each, and what its threads had begun.
    EXPECT_LT(reads[0], 1000 + 1200 * topology.node_count);
  }
}

TEST_F(RatesOnRanks, CountFilesWhereSamplesAreFiles) {
  SlowDataset source(5000, reading_);
  source.are_files = true;
  const runner::Topology topology = nodes(2);
  const double expected = 1000.0 * topology.node_count;
  EXPECT_NEAR(measure(source, topology).rates.source_files, expected, expected / 8.0);
}

TEST_F(RatesOnRanks, ReadOnlyWhatTheNodeNeedsAndNeverMoreThanThat) {
  SlowDataset source(5000, reading_);
  source.first = 4990;
  const runner::Topology topology = nodes(2);
  const MeasuredRates found = measure(source, topology);
  EXPECT_EQ(found.counts.source_samples, topology.node_count == 1 ? 10 : 10 + 10 * 2);
}

TEST_F(RatesOnRanks, ReadOneSampleWhereItExceedsTheLimit) {
  SlowDataset source(50, reading_);
  const runner::Topology topology = nodes(2);
  const MeasuredRates found = measure(source, topology, 6e7);
  EXPECT_EQ(found.counts.source_samples, topology.node_count == 1 ? 1 : 1 + 2);
}

TEST_F(RatesOnRanks, LeaveNothingInTheFolder) {
  SlowDataset source(100, reading_);
  const MeasuredRates found = measure(source, nodes(2));
  EXPECT_GT(found.counts.written_bytes, 0);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(RatesOnRanks, AgreeOnEveryRank) {
  SlowDataset source(5000, reading_);
  const Rates rates = measure(source, nodes(4)).rates;
  std::vector<std::int64_t> bits;
  for (const double rate : {rates.source, rates.source_of_node, rates.source_files, rates.network,
                            rates.local_write, rates.local_read}) {
    bits.push_back(std::bit_cast<std::int64_t>(rate));
  }
  const std::vector<std::int64_t> all = world_.allgather(bits);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], bits[i % bits.size()]);
}

TEST_F(RatesOnRanks, NameTheSampleThatCannotBeRead) {
  SlowDataset source(1, reading_);
  source.broken = 0;
  try {
    measure(source, nodes(2));
    ADD_FAILURE() << "expected AgreedError";
  } catch (const runner::AgreedError& error) {
    EXPECT_EQ(error.code(), base::ExitCode::kData);
    EXPECT_THAT(error.what(), HasSubstr("sample 0: cannot be read"));
  }
}

TEST_F(RatesOnRanks, AreZeroInAFolderWithoutRoom) {
  const FolderSpeed none = measure_folder(root_, {0, 1.0}, clock_);
  EXPECT_EQ(none.bytes, 0);
  EXPECT_EQ(none.write_bytes_per_s, 0.0);
  EXPECT_EQ(none.read_bytes_per_s, 0.0);
}

TEST_F(RatesOnRanks, NameAFolderThatCannotBeWrittenTo) {
  try {
    measure_folder("/proc", {1 << 20, 1.0}, clock_);
    ADD_FAILURE() << "expected SystemError";
  } catch (const base::SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc: no file can be created to measure its speed: "));
  }
}

}  // namespace
}  // namespace staging

// Tests of a run's click logs on several ranks: opening, staging, reading from staged copies.
#include "workloads/dlrm/click_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/agreed_error.h"
#include "runner/base/split_evenly.h"
#include "runner/base/thrown_message.h"
#include "runner/pretend_nodes.h"
#include "staging/dataset/clicks.h"
#include "workloads/parallel/data_parallel.h"

namespace dlrm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr dataset::ClickFormat kFormat{2, 3};
/// Training data of more than two pieces.
constexpr std::int64_t kTrain = 2 * dataset::ClickFile::kPieceBytes / 24 + 1001, kTest = 50'001;

/// Click files that all ranks share; nodes() pretends that the ranks are on several nodes.
class ClickDataOnRanks : public testing::Test {
 protected:
  ClickDataOnRanks() : world_(runner::Communicator::world()) {
    if (world_.rank() == 0) {
      folder_ = std::make_unique<base::TemporaryDirectory>();
      dataset::write_clicks(*folder_, "train.bin", kFormat, kTrain);
      dataset::write_clicks(*folder_, "test.bin", kFormat, kTest);
    }
    root_ = world_.broadcast(folder_ ? folder_->path().string() : "", 0);
  }
  ~ClickDataOnRanks() override { world_.barrier(); }

  runner::Topology nodes(int count) const { return runner::pretend_nodes(world_, count); }
  ClickDataOptions options(const runner::Topology& topology, staging::StagingMode mode) const {
    ClickDataOptions options;
    options.train = root_ + "/train.bin";
    options.test = root_ + "/test.bin";
    options.format = kFormat;
    options.ids = {{100'000'000, 100'000'000, 100'000'000}, 0};
    options.global_batch = 30'000;
    options.seed = 5;
    options.staging.mode = mode;
    options.staging.directory = root_ + "/node" + std::to_string(topology.node_index);
    return options;
  }
  nn::PassSlice slice() const {
    const auto [first, last] = base::split_evenly(30'000, world_.size(), world_.rank());
    return {30'000, first, last - first};
  }
  /// All ids that this rank gets in an epoch and an evaluation.
  std::vector<std::int32_t> everything(ClickData& data) const {
    std::vector<std::int32_t> ids;
    const auto add = [&](const dataset::ClickBatch& batch) {
      ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
    };
    const auto training = data.training_batches(slice(), 0, data.steps_per_epoch());
    for (std::int64_t step = 0; step < data.steps_per_epoch(); ++step) add(training->next());
    const auto evaluation = data.evaluation_batches(4096);
    for (std::int64_t step = 0; step < data.evaluation_steps(4096); ++step) add(evaluation->next());
    return ids;
  }

  const runner::Communicator world_;
  const base::SystemClock clock_;
  std::unique_ptr<base::TemporaryDirectory> folder_;
  std::string root_;
};

TEST_F(ClickDataOnRanks, KnowsItsStepsOnceCounted) {
  const runner::Topology topology = nodes(1);
  ClickData data(options(topology, staging::StagingMode::kStream), world_, topology, clock_);
  EXPECT_EQ(data.steps_per_epoch(), 0);
  data.open();
  EXPECT_EQ(data.train_samples(), kTrain);
  EXPECT_EQ(data.validation_samples(), kTest);
  EXPECT_EQ(data.steps_per_epoch(), 3);
  EXPECT_EQ(data.batch_samples(0) + data.batch_samples(1) + data.batch_samples(2), kTrain);
  std::vector<std::int64_t> parts = {data.evaluation_part(world_.rank()).count};
  world_.allreduce_sum(std::span(parts));
  EXPECT_EQ(parts[0], kTest);
  EXPECT_EQ(data.staging_plan({}), nullptr);
}

TEST_F(ClickDataOnRanks, KnowsItsStepsWithoutFilesWhenTheyAreConfigured) {
  const runner::Topology topology = nodes(1);
  ClickDataOptions absent = options(topology, staging::StagingMode::kShard);
  absent.train = root_ + "/absent.bin";
  absent.train_samples = kTrain;
  ClickData data(absent, world_, topology, clock_);
  EXPECT_EQ(data.steps_per_epoch(), 3);
  EXPECT_THAT(data.staging_plan({})["unknown"].get<std::string>(), HasSubstr("absent.bin"));
}

TEST_F(ClickDataOnRanks, FailsTogetherOverAFileThatDoesNotFit) {
  const runner::Topology topology = nodes(1);
  ClickDataOptions wrong = options(topology, staging::StagingMode::kStream);
  wrong.test_samples = kTest + 1;
  ClickData data(wrong, world_, topology, clock_);
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] { data.open(); }),
              AllOf(HasSubstr("test.bin: /dataset/test_samples"),
                    HasSubstr("expected 50002 samples, found 50001")));
}

TEST_F(ClickDataOnRanks, EvaluatesWithoutTheTrainingFile) {
  const runner::Topology topology = nodes(1);
  ClickDataOptions absent = options(topology, staging::StagingMode::kStream);
  absent.train = root_ + "/absent.bin";
  ClickData data(absent, world_, topology, clock_);
  EXPECT_THROW(data.open(), runner::AgreedError);
  EXPECT_EQ(data.validation_samples(), 0)
      << "what was opened before the failure counts for nothing";
  data.open_validation();
  EXPECT_EQ(data.validation_samples(), kTest);
  const auto batches = data.evaluation_batches(1000);
  EXPECT_EQ(batches->next().samples, 1000);
}

TEST_F(ClickDataOnRanks, IsTheSameFromStagedCopies) {
  const runner::Topology alone = nodes(1);
  ClickData plain(options(alone, staging::StagingMode::kStream), world_, alone, clock_);
  EXPECT_EQ(plain.stage({})["train"]["mode"], "stream");
  const auto expected = everything(plain);
  const parallel::ReadCounts in_place = plain.take_counts();
  std::vector<std::int64_t> all = {in_place.bytes};
  world_.allreduce_sum(std::span(all));
  EXPECT_EQ(all[0], (kTrain + kTest) * 24);
  EXPECT_EQ(in_place.levels, (staging::LevelCounts{.source_samples = in_place.bytes / 24,
                                                   .source_bytes = in_place.bytes}));
  EXPECT_EQ(in_place.staged, 0);
  EXPECT_EQ(plain.take_counts().bytes, 0);
  for (const int node_count : {1, 2}) {
    const runner::Topology topology = nodes(node_count);
    ClickData data(options(topology, staging::StagingMode::kShard), world_, topology, clock_);
    const nlohmann::json plan = data.staging_plan({});
    EXPECT_EQ(plan["train"]["bytes"], kTrain * 24);
    EXPECT_EQ(plan["fits"], true);
    const nlohmann::json facts = data.stage({});
    EXPECT_EQ(facts["train"]["bytes"], kTrain * 24 * topology.node_count);
    // The original files are no longer needed.
    const fs::path source = root_ + "/train.bin";
    world_.barrier();
    if (world_.rank() == 0) fs::rename(source, source.string() + ".away");
    world_.barrier();
    EXPECT_EQ(everything(data), expected);
    const parallel::ReadCounts counts = data.take_counts();
    EXPECT_GT(counts.bytes, in_place.bytes) << "whole pieces, whose ends are not those of parts";
    EXPECT_GT(counts.levels.copy_samples, 0);
    EXPECT_EQ(counts.levels, (staging::LevelCounts{.copy_samples = counts.levels.copy_samples,
                                                   .copy_bytes = counts.bytes}));
    std::vector<std::int64_t> staged = {counts.staged};
    world_.allreduce_sum(std::span(staged));
    EXPECT_EQ(staged[0], facts["train"]["bytes"].get<std::int64_t>() +
                             facts["test"]["bytes"].get<std::int64_t>());
    data.clean_up();
    EXPECT_TRUE(fs::is_empty(options(topology, staging::StagingMode::kShard).staging.directory));
    world_.barrier();
    if (world_.rank() == 0) fs::rename(source.string() + ".away", source);
    world_.barrier();
  }
}

TEST_F(ClickDataOnRanks, IsTheSameWhileItIsCopied) {
  const runner::Topology topology = nodes(2);
  ClickData plain(options(topology, staging::StagingMode::kStream), world_, topology, clock_);
  (void)plain.stage({});
  for (const auto mode : {staging::StagingMode::kShard, staging::StagingMode::kScatter}) {
    ClickDataOptions overlapping = options(topology, mode);
    overlapping.staging.overlap = true;
    ClickData data(overlapping, world_, topology, clock_);
    EXPECT_EQ(data.stage({}), nullptr);
    EXPECT_EQ(everything(data), everything(plain));
    nlohmann::json facts;
    while (facts.is_null()) {
      data.advance_staging();
      facts = data.finish_staging(staging::Finish::kIfDone);
    }
    EXPECT_EQ(facts["train"]["bytes"], kTrain * 24 * topology.node_count);
    EXPECT_EQ(facts["train"]["left_bytes"], 0);
    EXPECT_EQ(everything(data), everything(plain));
    data.clean_up();
  }
}

TEST_F(ClickDataOnRanks, TellsStagingWhatAnEpochReads) {
  const runner::Topology topology = nodes(1);
  ClickDataOptions chosen = options(topology, staging::StagingMode::kAuto);
  chosen.staging.given.rates =
      staging::Rates{.source = 24.0, .local_write = 1e12, .local_read = 1e12};
  chosen.staging.given.cache_bytes = 0;
  ClickData plain(options(topology, staging::StagingMode::kStream), world_, topology, clock_);
  (void)plain.stage({});
  for (const std::int64_t epochs : {1, 2}) {
    ClickData data(chosen, world_, topology, clock_);
    data.expect({.epochs = epochs, .evaluations_per_epoch = 2.0});
    const nlohmann::json facts = data.stage({});
    // A record a second: an epoch streams 2 evaluations, which a copy reads once.
    EXPECT_NEAR(facts["choice"]["modes"][0]["total_s"],
                static_cast<double>(epochs * (kTrain + 2 * kTest)), 1.0);
    EXPECT_EQ(facts["choice"]["chosen"], "shard");
    EXPECT_EQ(everything(data), everything(plain));
    data.clean_up();
  }
}

TEST_F(ClickDataOnRanks, ReadsInPlaceWhenStreamed) {
  const runner::Topology topology = nodes(1);
  const ClickDataOptions streamed = options(topology, staging::StagingMode::kStream);
  ClickData opened(streamed, world_, topology, clock_), staged(streamed, world_, topology, clock_);
  opened.open();
  EXPECT_EQ(staged.stage({}),
            nlohmann::json::parse(R"({"train": {"mode": "stream"}, "test": {"mode": "stream"}})"));
  EXPECT_EQ(everything(staged), everything(opened));
  const parallel::ReadCounts counts = staged.take_counts();
  EXPECT_EQ(counts.bytes, opened.take_counts().bytes) << "records, not whole pieces";
  EXPECT_EQ(counts.staged, 0);
  staged.clean_up();
  EXPECT_FALSE(fs::exists(streamed.staging.directory));
}

TEST_F(ClickDataOnRanks, CopiesBothFilesToEveryNodeWhenFull) {
  const runner::Topology topology = nodes(2);
  ClickData data(options(topology, staging::StagingMode::kFull), world_, topology, clock_);
  const nlohmann::json plan = data.staging_plan({});
  EXPECT_EQ(plan["mode"], "full");
  EXPECT_EQ(plan["test"]["bytes"], kTest * 24);
  const nlohmann::json facts = data.stage({});
  EXPECT_EQ(facts["train"]["bytes"], kTrain * 24 * topology.node_count);
  EXPECT_EQ(facts["test"]["bytes"], kTest * 24 * topology.node_count);
  data.clean_up();
}

TEST_F(ClickDataOnRanks, ReadsTheSourceOfACopyThatWasDamaged) {
  const runner::Topology topology = nodes(1);
  ClickData data(options(topology, staging::StagingMode::kShard), world_, topology, clock_);
  data.stage({});
  const auto expected = everything(data);
  if (topology.is_node_leader()) {
    for (const auto& entry : fs::recursive_directory_iterator(root_ + "/node0")) {
      if (!entry.path().filename().string().starts_with("pack-")) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(1000);
      file.put('\x7f');
    }
  }
  world_.barrier();
  EXPECT_EQ(everything(data), expected);
  const auto remarks = data.take_remarks();
  for (const auto& remark : remarks) EXPECT_THAT(remark, HasSubstr("differ from what was staged"));
  EXPECT_GE(world_.allreduce_max(static_cast<std::int64_t>(remarks.size())), 1);
  data.clean_up();
}

}  // namespace
}  // namespace dlrm

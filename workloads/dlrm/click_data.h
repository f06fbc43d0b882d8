// Opens and stages the click logs of a run and makes batches of them.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/level_counts.h"
#include "staging/stage.h"
#include "workloads/dlrm/click_batches.h"
#include "workloads/parallel/run_ahead.h"
#include "workloads/parallel/samples.h"

namespace dlrm {

struct ClickDataOptions {
  std::string train, test;         ///< paths of files of records
  std::int64_t train_samples = 0;  ///< 0: unknown until opened
  std::int64_t test_samples = 0;   ///< 0: unknown until opened
  dataset::ClickFormat format;
  dataset::ClickIds ids;
  std::int64_t global_batch = 0;
  Shuffle shuffle = Shuffle::kBatches;
  std::uint64_t seed = 0;
  int prefetch_batches = 4;
  staging::StagingConfig staging = {.mode = staging::StagingMode::kStream};
};

/// The test file is the validation set. Batches must not outlive it.
class ClickData final : public parallel::Samples {
 public:
  /// Accesses no file. world, topology and clock must outlive this. Throws ConfigError for options
  /// that contradict each other.
  ClickData(ClickDataOptions options, const runner::Communicator& world,
            const runner::Topology& topology, const base::Clock& clock);
  /// For StagingMode::kAuto, and for plans; without it nothing is ahead.
  void expect(parallel::RunAhead ahead) { ahead_ = std::move(ahead); }

  /// Throw AgreedError when a file cannot be used or does not have the configured number of
  /// samples; then the call opens neither file.
  void open() override;
  void open_validation() override;
  bool counts_known() const override {
    return options_.train_samples > 0 && options_.test_samples > 0;
  }
  std::int64_t train_samples() const override;
  std::int64_t validation_samples() const override;
  /// ceil(samples / global_batch): the last block, which may be shorter, is a step, too.
  std::int64_t steps_per_epoch() const override;
  /// Samples of the global batch of `step`; steps are counted from the start of the run.
  std::int64_t batch_samples(std::int64_t step) const;

  /// With StagingMode::kShard every node gets a copy of the whole training file, since any block
  /// may become any step, and of the part of the test file that its ranks evaluate; with kFull, of
  /// both files.
  nlohmann::json stage(const parallel::BatchSplit& split) override;
  void advance_staging() override { staging_->advance(); }
  nlohmann::json finish_staging(staging::Finish when) override;
  nlohmann::json staging_plan(const parallel::BatchSplit& split) override;
  void clean_up() override;

  /// This rank's places of the global batches of steps [first_step, last_step).
  std::unique_ptr<ClickBatches> training_batches(const nn::PassSlice& slice,
                                                 std::int64_t first_step, std::int64_t last_step);
  /// Records of the test file that `rank` evaluates.
  RecordRange evaluation_part(int rank) const;
  /// This rank's part in batches of `batch` samples, evaluation_steps() of them on every rank;
  /// slots without a sample have the label -1.
  std::unique_ptr<ClickBatches> evaluation_batches(std::int64_t batch);
  std::int64_t evaluation_steps(std::int64_t batch) const;
  parallel::ReadCounts take_counts() override;
  std::vector<std::string> take_remarks() override;

 private:
  using File = std::shared_ptr<const dataset::ClickFile>;
  File open_file(const std::string& path, std::int64_t expected_samples, const char* key) const;
  std::vector<staging::Wanted> wanted() const;
  staging::Outlook outlook() const;
  ClickBatches::Source source_of(const File& file);

  const ClickDataOptions options_;
  const runner::Communicator& world_;
  const runner::Topology& topology_;
  const base::Clock& clock_;
  parallel::RunAhead ahead_;
  File train_, test_;
  std::optional<ClickOrder> order_;
  std::optional<staging::Staging> staging_;
  staging::LevelCounter read_;  ///< as if all were in the files
};

}  // namespace dlrm

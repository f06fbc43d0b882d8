// The training and validation sets of a run, with samples of any kind: opens, checks and stages
// them, and assigns samples to batches and ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/cache/cache.h"
#include "staging/cache/cache_config.h"
#include "staging/dataset/remark.h"
#include "staging/level_counts.h"
#include "staging/sample_order.h"
#include "staging/stage.h"
#include "staging/staging_config.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/odd_samples.h"
#include "workloads/parallel/run_ahead.h"
#include "workloads/parallel/samples.h"
#include "workloads/parallel/training_keys.h"

namespace parallel {

struct SampleSetsConfig {
  ReadKeys read;
  std::int64_t global_batch_size = 0;
  std::int64_t epochs = 0;
  std::uint64_t seed = 0;
  staging::StagingConfig staging;
  cache::CacheConfig cache = {};
  std::int64_t group = 0, groups = 1;  ///< the ranks of a group share the same samples
};

/// The sample in one slot of a batch.
struct SamplePlace {
  std::int64_t epoch = 0;
  std::int64_t index = -1;  ///< in the dataset; -1: the slot holds no sample
};

/// Base class of the workloads' sets, which make batches of their samples.
class SampleSets : public Samples {
 public:
  using Source = std::shared_ptr<const dataset::Dataset>;
  /// Null members are not open.
  struct Sources {
    Source train, validation;
  };
  enum class Need { kBoth, kValidation };
  /// Collective. Opens the needed sources that are null.
  using Open = std::function<void(Sources& sources, Need need)>;
  /// An Open that calls `open` with the path of each set.
  static Open by_path(std::string train, std::string validation,
                      std::function<Source(const std::string& path)> open);

  /// Accesses no file. world, topology and clock outlive this.
  SampleSets(const SampleSetsConfig& config, Open open, const runner::Communicator& world,
             const runner::Topology& topology, const base::Clock& clock);

  /// For StagingMode::kAuto, and for plans; without it nothing is ahead.
  void expect(RunAhead ahead) { ahead_ = std::move(ahead); }

  void open() override;
  void open_validation() override;
  bool counts_known() const override { return config_.read.counts_known(); }
  std::int64_t train_samples() const override;
  std::int64_t validation_samples() const override;
  std::int64_t steps_per_epoch() const override;
  /// The sets to read samples from: the originals, or after stage() the staged copies.
  const Source& train() const { return sources_.train; }
  const Source& validation() const { return sources_.validation; }
  /// Where this rank reads what it draws in `epoch`: train(), or what the cache keeps of it.
  Source train_in(std::int64_t epoch) const;

  nlohmann::json stage(const BatchSplit& split) override;
  void advance_staging() override { staging_->advance(); }
  nlohmann::json finish_staging(staging::Finish when) override;
  nlohmann::json staging_plan(const BatchSplit& split) override;
  void clean_up() override;

  /// A training batch is this rank's slice of one pass; batches are numbered from the start of the
  /// run. first_batch(): the first batch of update `step`.
  static std::int64_t first_batch(const BatchSplit& split, std::int64_t step);
  /// Call before the batches from update `first_step` on are read; returns the first of them.
  std::int64_t begin_training(const BatchSplit& split, std::int64_t first_step) const;
  std::int64_t training_batch_count(const BatchSplit& split) const;
  /// Samples of each training batch.
  std::int64_t batch_samples(const BatchSplit& split) const;
  /// Thread-safe, as is validation_place().
  SamplePlace training_place(const BatchSplit& split, std::int64_t batch, std::int64_t slot) const;
  /// The range [first, last) of the validation set that this rank's group evaluates. It is read in
  /// batches of `batch_size`; the last batch may have slots without a sample.
  std::pair<std::int64_t, std::int64_t> validation_part() const;
  std::int64_t validation_batch_count(std::int64_t batch_size) const;
  SamplePlace validation_place(std::int64_t batch_size, std::int64_t batch,
                               std::int64_t slot) const;
  /// When each training sample is drawn, and by which rank. Only where no ranks share samples.
  cache::Schedule schedule(const BatchSplit& split) const;

  /// Call once a sample that is read from `set`, one of the above. Thread-safe, as are the
  /// following.
  void count_read(const dataset::Dataset& set, std::int64_t bytes);
  /// For a sample that is not read, since this rank has kept it as decoded: `bytes` of it are used.
  void count_kept(std::int64_t bytes) { kept_.count_from_memory(bytes); }
  /// For a sample that does not decode. A sample counts once, as in count_flawed().
  void count_skipped(SampleSet set, std::int64_t index) { skipped_.count(set, index); }
  /// For a sample that decodes although its file has a flaw: "a.jpg: ...".
  void count_flawed(SampleSet set, std::int64_t index, const std::string& flaw) {
    if (flawed_.count(set, index)) flaw_.note(flaw);
  }
  ReadCounts take_counts() override;
  std::vector<std::string> take_remarks() override;

 private:
  staging::Ranges needed_for_training(const BatchSplit& split) const;
  std::vector<staging::Wanted> wanted(const BatchSplit& split) const;
  staging::Outlook outlook() const;
  void learn(Need need);
  void make_cache(const BatchSplit& split);
  void make_order(std::int64_t samples);

  const SampleSetsConfig config_;
  const Open open_;
  const runner::Communicator& world_;
  const runner::Topology& topology_;
  const base::Clock& clock_;
  RunAhead ahead_;
  Sources sources_;
  std::optional<staging::SampleOrder> order_;
  std::optional<staging::Staging> staging_;
  std::shared_ptr<cache::Cache> cache_;  ///< null: nothing is cached
  staging::LevelCounter read_;           ///< past the cache, as if all were in the source
  staging::LevelCounter kept_;           ///< decoded samples, wherever they were read
  std::atomic<std::int64_t> bytes_read_{0};
  OddSamples skipped_, flawed_;
  dataset::Remark flaw_;
};

}  // namespace parallel

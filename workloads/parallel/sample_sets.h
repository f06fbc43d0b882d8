// The training and the validation set of a run: opened, checked, staged, ordered and shared out.
// Hides what a rank needs of them; what a sample is it does not know.
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
#include "staging/sample_order.h"
#include "staging/stage.h"
#include "staging/staging_config.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/samples.h"
#include "workloads/parallel/training_keys.h"

namespace parallel {

struct SampleSetsConfig {
  ReadKeys read;
  std::int64_t global_batch_size = 0;
  std::int64_t epochs = 0;
  std::uint64_t seed = 0;
  staging::StagingConfig staging;
  std::int64_t group = 0, groups = 1;  ///< ranks of a group have the same samples
};

/// A sample of a batch.
struct SamplePlace {
  std::int64_t epoch = 0;
  std::int64_t index = -1;  ///< in the dataset; -1: the slot holds no sample
};

/// Workloads derive from it what makes batches of their samples.
class SampleSets : public Samples {
 public:
  using Source = std::shared_ptr<const dataset::Dataset>;
  /// Null: not opened.
  struct Sources {
    Source train, validation;
  };
  enum class Need { kBoth, kValidation };
  /// Collective. Opens what is needed and null.
  using Open = std::function<void(Sources& sources, Need need)>;
  /// By a function that opens either, given its path.
  static Open by_path(std::string train, std::string validation,
                      std::function<Source(const std::string& path)> open);

  /// Touches no file. world, topology and clock outlive this.
  SampleSets(const SampleSetsConfig& config, Open open, const runner::Communicator& world,
             const runner::Topology& topology, const base::Clock& clock);

  void open() override;
  void open_validation() override;
  bool counts_known() const override { return config_.read.counts_known(); }
  std::int64_t train_samples() const override;
  std::int64_t validation_samples() const override;
  std::int64_t steps_per_epoch() const override;
  /// What to read samples from: in place, or near since stage().
  const Source& train() const { return sources_.train; }
  const Source& validation() const { return sources_.validation; }

  nlohmann::json stage(const BatchSplit& split) override;
  nlohmann::json staging_plan(const BatchSplit& split) override;
  void clean_up() override;

  /// Batches of this rank are passes, counted from the start of the run: that which update `step`
  /// begins with, and the number of all.
  static std::int64_t first_batch(const BatchSplit& split, std::int64_t step);
  std::int64_t training_batch_count(const BatchSplit& split) const;
  /// Samples of each of them.
  std::int64_t batch_samples(const BatchSplit& split) const;
  /// Threads may ask at once, as of validation_place().
  SamplePlace training_place(const BatchSplit& split, std::int64_t batch, std::int64_t slot) const;
  /// [first, last) of the validation set that this rank's group evaluates, and the same in batches
  /// of `batch_size`, of which the last has slots that hold no sample.
  std::pair<std::int64_t, std::int64_t> validation_part() const;
  std::int64_t validation_batch_count(std::int64_t batch_size) const;
  SamplePlace validation_place(std::int64_t batch_size, std::int64_t batch,
                               std::int64_t slot) const;

  /// Threads may tell at once.
  void count_read(std::int64_t bytes) { bytes_read_.fetch_add(bytes, std::memory_order_relaxed); }
  void count_skipped() { skipped_.fetch_add(1, std::memory_order_relaxed); }
  ReadCounts take_counts() override;

 private:
  staging::Ranges needed_for_training(const BatchSplit& split) const;
  void learn(Need need);
  void make_order(std::int64_t samples);

  const SampleSetsConfig config_;
  const Open open_;
  const runner::Communicator& world_;
  const runner::Topology& topology_;
  const base::Clock& clock_;
  Sources sources_;
  std::optional<staging::SampleOrder> order_;
  std::vector<std::shared_ptr<staging::FolderUse>> uses_;
  std::atomic<std::int64_t> bytes_read_{0}, skipped_{0};
  std::int64_t bytes_staged_ = 0;
};

}  // namespace parallel

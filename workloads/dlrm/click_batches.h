// Batches of click records: the block of the file for each step, and a rank's part of the block.
// Hides shuffling, prefetching and padding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "staging/dataset/criteo.h"
#include "staging/level_counts.h"
#include "staging/prefetch_queue.h"
#include "workloads/nn/batch_groups.h"

namespace dlrm {

enum class Shuffle {
  kBatches,  ///< each epoch visits the blocks in a new random order
  kNone      ///< in file order
};

/// Consecutive records of a file.
struct RecordRange {
  std::int64_t first = 0, count = 0;
};

/// Cuts a file into blocks of `global_batch` consecutive records, one for each step of an epoch.
/// The last block may be shorter; no record is dropped. The order depends on (seed, epoch) only.
class ClickOrder {
 public:
  /// Throws ConfigError unless both numbers are positive.
  ClickOrder(std::int64_t samples, std::int64_t global_batch, Shuffle shuffle, std::uint64_t seed);
  std::int64_t steps_per_epoch() const { return blocks_; }
  /// Records of `step`; steps are counted from the start of the run over all epochs.
  RecordRange block(std::int64_t step) const;
  /// The block's records in the places [slice.first, slice.first + slice.count) of the batch.
  RecordRange part(std::int64_t step, const nn::PassSlice& slice) const;

 private:
  std::int64_t samples_, global_batch_, blocks_;
  Shuffle shuffle_;
  std::uint64_t seed_;
};

/// Batches of `places` samples each, read and decoded ahead by a background thread. next() and
/// ahead() throw the errors of the batch that they would return.
class ClickBatches {
 public:
  struct Source {
    std::shared_ptr<const dataset::ClickFile> file;
    dataset::ClickIds ids;
    int prefetch_batches = 4;
    staging::LevelCounter* read = nullptr;  ///< counts all as the source's; null, or outlives the
                                            ///< batches
  };
  /// The records of a batch, at most `places`; called on the background thread.
  using RangeOf = std::function<RecordRange(std::int64_t batch)>;
  /// Batches first, first+1, ..., last-1.
  ClickBatches(Source source, std::int64_t places, std::int64_t first, std::int64_t last,
               RangeOf range_of);
  /// Waits for the next batch, which is valid until the next call. Places without a sample (in a
  /// short block) have the label -1. Throws Error(kInternal) after the last batch.
  const dataset::ClickBatch& next();
  /// The batch that next() returns next, if it has been read; does not wait. Null if it has not,
  /// or there is none. Leaves the one that next() returned last as it is.
  const dataset::ClickBatch* ahead();

 private:
  void fill(std::int64_t batch, std::size_t place);

  Source source_;
  std::int64_t places_;
  RangeOf range_of_;
  std::vector<dataset::ClickBatch> batches_;        ///< by place
  std::vector<std::vector<std::int32_t>> records_;  ///< by place: raw records
  dataset::ClickFile::LastPiece last_piece_;        ///< of the background thread
  dataset::ClickBatch current_, ahead_;             ///< as next() and ahead() returned them
  bool has_ahead_ = false;
  std::int64_t left_;             ///< batches that have not been taken from the queue
  staging::PrefetchQueue queue_;  ///< last member: its thread must end before the buffers it fills
};

/// This rank's slice of the batches of steps [first_step, last_step) of a run.
std::unique_ptr<ClickBatches> training_batches(const ClickBatches::Source& source,
                                               const ClickOrder& order, const nn::PassSlice& slice,
                                               std::int64_t first_step, std::int64_t last_step);

/// Records that `rank` of `ranks` evaluates: contiguous, sizes differing by at most one.
RecordRange evaluation_part(std::int64_t samples, int ranks, int rank);
/// Number of batches of `batch` samples for the largest part. All ranks run this many, since each
/// batch is collective.
std::int64_t evaluation_steps(std::int64_t samples, int ranks, std::int64_t batch);

/// `part` in `steps` batches of `batch` samples; slots past the end of `part` have the label -1.
std::unique_ptr<ClickBatches> evaluation_batches(const ClickBatches::Source& source,
                                                 const RecordRange& part, std::int64_t batch,
                                                 std::int64_t steps);

}  // namespace dlrm

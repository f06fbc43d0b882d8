// The training loop's interface to the training and validation samples of a run.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "staging/level_counts.h"
#include "staging/staging_config.h"

namespace parallel {

struct BatchSplit;

/// Counts of reading and staging on this rank since the last take_counts().
struct ReadCounts {
  std::int64_t bytes = 0, staged = 0;  ///< bytes read and bytes staged
  std::int64_t skipped = 0;            ///< samples that do not decode, each once
  std::int64_t flawed = 0;  ///< samples that decode although the file has a flaw, each once
  staging::LevelCounts levels = {};  ///< where the samples were
};

class Samples {
 public:
  Samples() = default;
  virtual ~Samples() = default;
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  /// Collective, both. Open both sets, or the validation set alone, unless already open. Throw
  /// DataError when a set does not have the configured number of samples.
  virtual void open() = 0;
  virtual void open_validation() = 0;
  /// Whether the configuration gives both sample counts, so that no file need be opened for them.
  virtual bool counts_known() const = 0;
  /// These three return 0 while the count is unknown.
  virtual std::int64_t train_samples() const = 0;
  virtual std::int64_t validation_samples() const = 0;
  virtual std::int64_t steps_per_epoch() const = 0;

  /// Collective. Copies the samples that this node's ranks need to local storage; returns facts
  /// about the copies, by set; null when copying goes on while samples are read.
  virtual nlohmann::json stage(const BatchSplit& split) = 0;
  /// Not collective; does not wait. Call it between batches while copying goes on.
  virtual void advance_staging() = 0;
  /// Collective. The facts of what goes on, once it is over; else null.
  virtual nlohmann::json finish_staging(staging::Finish when) = 0;
  /// Collective. What stage() would copy to this node, by set; null if samples are streamed.
  virtual nlohmann::json staging_plan(const BatchSplit& split) = 0;
  /// Collective. Removes the staged copies unless they are configured to be kept. No samples may be
  /// read afterwards.
  virtual void clean_up() = 0;

  virtual ReadCounts take_counts() = 0;
  /// Remarks on the samples for people since the last call; see runner::Workload::take_remarks().
  virtual std::vector<std::string> take_remarks() = 0;
};

}  // namespace parallel

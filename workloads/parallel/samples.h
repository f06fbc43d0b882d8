// The training and the validation samples of a run, as the loop sees them: whatever a sample is.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace parallel {

struct BatchSplit;

/// What reading and staging have done on this rank since the last take_counts().
struct ReadCounts {
  std::int64_t bytes = 0, staged = 0;
  std::int64_t skipped = 0;  ///< samples that do not decode
};

class Samples {
 public:
  Samples() = default;
  virtual ~Samples() = default;
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  /// Collective, both. Opens both sets, or the validation set alone, unless done already. Throws
  /// DataError when counts are not those configured.
  virtual void open() = 0;
  virtual void open_validation() = 0;
  /// The configuration has both counts, so that nothing need be opened to know them.
  virtual bool counts_known() const = 0;
  /// 0 while they are not known, these three.
  virtual std::int64_t train_samples() const = 0;
  virtual std::int64_t validation_samples() const = 0;
  virtual std::int64_t steps_per_epoch() const = 0;

  /// Collective. Brings near what this node's ranks need.
  virtual nlohmann::json stage(const BatchSplit& split) = 0;
  /// Collective. What stage() would copy to this node, by set; null when it would read in place.
  virtual nlohmann::json staging_plan(const BatchSplit& split) = 0;
  /// Collective. Removes what stage() left, unless it shall be kept. Nothing reads any more.
  virtual void clean_up() = 0;

  virtual ReadCounts take_counts() = 0;
};

}  // namespace parallel

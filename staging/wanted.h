// What a run needs of staging, and where.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/ranges.h"

namespace staging {

/// A set of samples, and those of them that this rank needs.
struct Wanted {
  std::string name;  ///< in plans and facts
  std::shared_ptr<const dataset::Dataset> source;
  Ranges ranges;
  double samples_per_epoch = 0.0;  ///< that this rank reads of them in an epoch
};

/// What a run is about to do, for the choice of a mode.
struct Outlook {
  std::int64_t epochs = 0;
  double epoch_compute_s = 0.0;   ///< seconds of an epoch without reading; 0: unknown
  std::int64_t memory_bytes = 0;  ///< that the ranks of this node need beside samples
};

/// Where staging takes place. What is referred to must outlive its users.
struct Place {
  const runner::Communicator& world;
  const runner::Topology& topology;
  const base::Clock& clock;
};

}  // namespace staging

// Measures how fast a job reads its source, and how fast its nodes exchange, write and read data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/choose.h"
#include "staging/dataset/dataset.h"
#include "staging/ranges.h"

namespace staging {

/// What measuring took, over all nodes.
struct ProbeCounts {
  std::int64_t source_bytes = 0, source_samples = 0;  ///< read from the source
  std::int64_t sent_bytes = 0;                        ///< between nodes
  std::int64_t written_bytes = 0;  ///< to the folders of nodes, and read back from there
  double seconds = 0.0;
};
nlohmann::json to_json(const ProbeCounts& counts);

/// What measure_rates() found; the same on every rank.
struct MeasuredRates {
  Rates rates;
  ProbeCounts counts;
};

/// What to measure with.
struct Probe {
  const dataset::Dataset& source;
  Ranges ranges;                ///< samples that this rank's node may read
  double sample_bytes = 1.0;    ///< mean size of a sample
  std::string directory;        ///< of copies; need not exist yet
  std::uint64_t varied_by = 0;  ///< another number reads other samples, the same on all ranks
};

/// Collective over all ranks; takes about 3 s at most, unless a single read or write takes longer,
/// and at most 96 MiB of each node, unless a sample is larger. One node reads samples alone, then
/// all at once, on a few threads each; nodes shift blocks around a ring; each writes and syncs an
/// unlinked file near `directory` and reads it back from its disk. Rates of nodes are those of the
/// slowest one. Local rates are 0 on a full disk. Throws AgreedError where a sample cannot be read
/// or the folder cannot be written to.
MeasuredRates measure_rates(const Probe& probe, const runner::Communicator& world,
                            const runner::Topology& topology, const base::Clock& clock);

}  // namespace staging

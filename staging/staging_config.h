// The "staging" section of a configuration, the same for every workload.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"
#include "staging/storage_rates.h"

namespace staging {

/// Where samples are read while training. No mode changes which samples a rank reads, or their
/// order.
enum class StagingMode {
  kStream,   ///< in place
  kShard,    ///< from a copy of what the node's ranks need on node-local storage
  kScatter,  ///< the same, but nodes that need the same share out its reading and pass it round
  kFull,     ///< from a copy of the whole set on node-local storage
  kAuto      ///< one of the others, chosen before anything is copied (decide())
};
const char* to_string(StagingMode mode);

/// What happens to a node's copy after the run. A copy that was once kept, as by `trainmark stage`,
/// is not removed by a later run with kRemove.
enum class Afterwards { kRemove, kKeep };

/// How copies are trusted: kUnread trusts what their files look like, and finds a damaged sample
/// only when it is read; kVerified reads those that are there in full first, and new ones back from
/// the device.
enum class Reuse { kUnread, kVerified };

/// How copies hold samples of compressed files (dataset/expand.h).
enum class Compressed {
  kKept,     ///< as their files have them
  kExpanded  ///< where files state the size of their content; else the same
};

/// Whether copies are written around the page cache.
enum class DirectIo {
  kAuto,  ///< where a trial shows that it is faster (write_choice.h)
  kAlways,
  kNever
};

/// When copying beside training is brought to an end.
enum class Finish {
  kIfDone,  ///< only when all ranks have copied what they could
  kNow      ///< after ending what goes on
};

struct StagingConfig {
  StagingMode mode = StagingMode::kAuto;
  std::string directory = {};
  Afterwards afterwards = Afterwards::kRemove;
  Reuse reuse = Reuse::kUnread;
  /// Training begins before copying ends.
  bool overlap = false;
  Compressed compressed = Compressed::kExpanded;
  DirectIo direct_io = DirectIo::kAuto;
  std::int64_t memory_bytes = std::int64_t{1} << 30;  ///< of a node, for packs on their way
  std::int64_t readers = 4, writers = 2;              ///< threads of each rank that copies
  GivenRates given = {};                              ///< for kAuto and for plans
};

StagingConfig parse_staging(const base::ObjectReader& section);

}  // namespace staging

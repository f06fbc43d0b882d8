// Which way of reading samples takes a run the least time. Formulas alone: no files, no messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "staging/staging_config.h"
#include "staging/storage_rates.h"

namespace staging {

/// What a job needs of its sets, all together.
struct Sizes {
  int nodes = 1;
  double sample_bytes = 0.0;        ///< mean
  double growth = 1.0;              ///< bytes of a copy, some expanded, for each of the source's
  std::int64_t needed = 0;          ///< bytes that the ranks of a node may read; the largest node's
  std::int64_t missing = 0;         ///< of these, what a node must copy; the largest node's
  std::int64_t missing_of_all = 0;  ///< its sum over nodes
  std::int64_t missing_once = 0;    ///< its sum over classes, which are nodes that lack the same
  int class_nodes = 1;              ///< nodes of the largest class
  std::string too_small;  ///< a node whose folder has no room for what it lacks: "node 3 (host): 9
                          ///< GiB are needed, 4 GiB are free"; else ""
};

/// What a job reads, in epochs that all read as much.
struct Horizon {
  std::int64_t epochs = 0;
  double epoch_bytes = 0.0;         ///< that a node's ranks read in an epoch; the largest node's
  double epoch_bytes_of_all = 0.0;  ///< its sum over nodes
  double compute_s = 0.0;           ///< of an epoch, during which reading goes on; 0: unknown
  std::int64_t cache_bytes = 0;     ///< memory of a node that can keep what was read once
};

/// How often copying reads what several nodes lack from the source.
enum class SourceReads { kOncePerNode, kOncePerClass };

/// A mode that copies, and how.
struct CopyingMode {
  StagingMode mode = StagingMode::kShard;
  SourceReads reads = SourceReads::kOncePerNode;
  bool overlaps = false;  ///< the first epoch goes on beside copying
};

/// The modes among which `auto` chooses. kFull is only used by name: it copies more. `overlap` as
/// in StagingConfig.
std::vector<CopyingMode> copying_modes(bool overlap = false);
/// How `mode` copies.
CopyingMode copying_mode(StagingMode mode, bool overlap = false);

/// How a job would go in one mode. Seconds are infinite where a rate is unknown.
struct Prediction {
  StagingMode mode = StagingMode::kStream;
  double staging_s = 0.0;  ///< before the first epoch, or beside it
  bool overlaps = false;   ///< beside it
  double total_s = 0.0;    ///< staging and all epochs; without computing where compute_s is unknown
  /// Epochs after which staging and reading copies have taken no more time than reading the source;
  /// nullopt: never, and for kStream.
  std::optional<double> break_even_epochs;
};

/// Share of a node's bytes of epoch `epoch` (from 0) that are not in its memory yet. Samples are
/// drawn anew in each epoch, and what was read stays in memory until that is full. `growth`: 1
/// where the source is read; Sizes::growth for copies.
double miss_share(const Sizes& sizes, const Horizon& horizon, std::int64_t epoch,
                  double growth = 1.0);

/// Of one mode; kStream takes no staging.
Prediction predict(const CopyingMode& mode, const Sizes& sizes, const Rates& rates,
                   const Horizon& horizon);

/// Whether staging is free to pay or must be done.
enum class Wish {
  kFastest,  ///< the mode that takes the least time
  kCopy      ///< the copying mode that does, since a copy is wanted in any case
};

struct Choice {
  StagingMode mode = StagingMode::kStream;
  std::string reason;  ///< one sentence
  /// kStream first; empty where the sizes alone decided.
  std::vector<Prediction> predictions;
  /// Of `mode`, or nullptr.
  const Prediction* predicted() const;
};

/// Whether choosing takes a measurement.
enum class RatesAre { kKnown, kUnknown };

/// The choice where it needs no rates, else nullopt. Whoever has copies of all that it needs uses
/// them. A run gains nothing from a copy if copying would read as much from the source as streaming
/// does. Unknown rates do not matter for less than 64 MiB on a node: measuring would read more.
std::optional<Choice> choose_by_size(const std::vector<CopyingMode>& modes, const Sizes& sizes,
                                     const Horizon& horizon, Wish wish, RatesAre rates);

/// The mode with the least total_s. With Wish::kFastest it must fit, and take at least 5 % less
/// than kStream, which is chosen otherwise. Of equal modes the first one is taken.
Choice choose(const std::vector<CopyingMode>& modes, const Sizes& sizes, const Rates& rates,
              const Horizon& horizon, Wish wish);

}  // namespace staging

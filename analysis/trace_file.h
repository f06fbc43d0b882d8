// The trace that a run leaves beside its log: what its layers took, and what ranks did when.
// Hides the file's name and layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log_parser.h"

namespace analysis {

/// Seconds of a training step, forward and backward together, by the layer's name.
using LayerTimes = std::map<std::string, double>;

/// A subsystem's scope on one rank.
struct TraceSpan {
  std::int64_t rank = 0;
  std::string name;
  double begin_s = 0.0, end_s = 0.0;  ///< since the first event of the trace
};

struct RunTrace {
  /// Spans that are kept: of each of the first ranks the first in the file, up to this many.
  static constexpr std::int64_t kMostSpans = 400, kMostRanks = 64;
  LayerTimes layers;  ///< means over steps and ranks
  std::vector<TraceSpan> spans;
  std::int64_t spans_left_out = 0;  ///< of all ranks
};

/// Reads result_<n>.trace.json beside result_<n>.txt. Nothing when there is none; nothing and a
/// finding when it is damaged, larger than 1 GiB, or has more layers than a network.
std::optional<RunTrace> read_trace_beside(const std::filesystem::path& log,
                                          std::vector<Finding>& findings);

}  // namespace analysis

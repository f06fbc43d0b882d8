// Reads the trace that a run writes next to its log: times of layers, transfers, and spans of each
// rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log_parser.h"
#include "analysis/trace_entries.h"

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
  /// `spans` has the first kMostSpans in the file of each rank below kMostRanks.
  static constexpr std::int64_t kMostSpans = 400, kMostRanks = 64;
  LayerTimes layers;  ///< means over steps and ranks
  TracedStep step;
  std::vector<TraceSpan> spans;
  std::int64_t spans_left_out = 0;  ///< of all ranks
};

/// Reads result_<n>.trace.json next to result_<n>.txt. Absent if there is none; absent, with a
/// finding, if it is damaged, larger than 1 GiB, or has more than 100,000 layers.
std::optional<RunTrace> read_trace_of(const std::filesystem::path& log,
                                      std::vector<Finding>& findings);

}  // namespace analysis

// Splits a run's time by its log's intervals, and counts its epochs and samples.
#pragma once

#include "analysis/facts.h"
#include "analysis/intervals.h"

namespace analysis {

/// The intervals of one run, clipped to its window.
struct RunIntervals {
  Intervals epochs;  ///< or blocks, if the log has no epoch_start
  bool blocks = false;
  Intervals evaluations, saves;
  Intervals staging;        ///< inside the window
  double staging_ms = 0.0;  ///< inside and outside
  bool has_epochs = false, has_evaluations = false, has_saves = false, has_staging = false;
  Window window;
};

RunIntervals intervals_of(const ParsedLog& log, const Window& window);
/// Which intervals count as training. Blocks do not in a log that should have epochs, as they may
/// include evaluations and more.
enum class TrainedIn { kEpochs, kEpochsOrBlocks };
RunParts parts_of(const RunIntervals& intervals, const Window& window, TrainedIn trained_in);

/// `facts` already has configuration, evaluations, target and unit of positions; `rules` may be
/// null.
RunProgress progress_of(const ParsedLog& log, const RunIntervals& intervals, const RunFacts& facts,
                        const mllog::EvaluationFacts* rules);

}  // namespace analysis

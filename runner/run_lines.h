// The text at the end of a run: the RESULT line, its files, its trace.
#pragma once

#include <ostream>
#include <string>

#include "runner/console.h"
#include "runner/result_files.h"
#include "runner/resume.h"
#include "runner/run_config.h"
#include "runner/run_outcome.h"
#include "runner/run_trace.h"

namespace runner {

/// Exists on rank 0; everything it refers to outlives it.
struct FinishedRun {
  const RunOutcome& outcome;
  const RunConfig& config;  ///< with the run's seed
  const WorkloadInfo& info;
  const ResultFiles& files;
  bool has_weights = true;
  const ResumePoint* resume = nullptr;  ///< null: started from scratch
  std::string verdict;                  ///< the rules' verdict on its log; "": not judged
};

/// Prints the RESULT line and the files' paths to `out`, and the reason of a failure on the
/// console.
void print_run(const FinishedRun& run, std::ostream& out, Console& console);

/// Prints the file's path and the transfers to `out` (unless null), and a warning on the console if
/// the file lacks requested steps.
void print_trace(const TraceSummary& trace, const telemetry::StepRange& asked_for,
                 const std::string& path, std::ostream* out, Console& console);

}  // namespace runner

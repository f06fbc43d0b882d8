// What people are told at the end of a run: the RESULT line, where its files lie, its trace.
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

/// On rank 0; all outlive it.
struct FinishedRun {
  const RunOutcome& outcome;
  const RunConfig& config;  ///< with the run's seed
  const WorkloadInfo& info;
  const ResultFiles& files;
  const ResumePoint* resume = nullptr;  ///< null: it began anew
  std::string verdict;                  ///< of the rules on its log; "": nobody judged it
};

/// The RESULT line and the files' paths; on the console why it was no success.
void tell_run(const FinishedRun& run, std::ostream& out, Console& console);

/// The file's path and the transfers (`out` null: nowhere); on the console what the file lacks of
/// the steps that were asked for.
void tell_trace(const TraceSummary& trace, const telemetry::StepRange& asked_for,
                const std::string& path, std::ostream* out, Console& console);

}  // namespace runner

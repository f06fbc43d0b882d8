// The result of a run as JSON (`run --json`), written once, however the run ends.
// Hides the document's layout, and who is first to write it.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "runner/base/error.h"
#include "runner/result_files.h"
#include "runner/run_config.h"
#include "runner/run_outcome.h"
#include "runner/workload.h"

namespace runner {

inline constexpr int kResultSchema = 1;

/// What a run gave: status, reason, quality, epochs, seconds, seed, files, exit code. Figures that
/// it does not have are null. Seconds to the target are null unless the run reached it in one part.
nlohmann::json result_document(const RunOutcome& outcome, const RunConfig& config,
                               const WorkloadInfo& info, const ResultFiles& files);

/// Of a run that ended by an error: the same keys, null where nothing is known.
nlohmann::json failure_document(const base::Failure& failure);

/// Where the document goes. Several threads may have one: the first is written, the others are not.
class ResultSink {
 public:
  /// `target`: a file, "-" for `out`, "" for nowhere. `out` outlives this.
  ResultSink(std::string target, std::ostream& out) : target_(std::move(target)), out_(out) {}
  /// Throws SystemError.
  void write(const nlohmann::json& document);
  bool is_wanted() const { return !target_.empty(); }
  bool owns_standard_output() const { return target_ == "-"; }

 private:
  std::string target_;
  std::ostream& out_;
  std::mutex mutex_;
  bool is_written_ = false;
};

}  // namespace runner

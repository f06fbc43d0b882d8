// The result of a run as JSON (`run --json`), written exactly once, however the run ends.
#pragma once

#include <functional>
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

/// Status, reason, quality, epochs, seconds, seed, files, exit code. Missing values are null; so
/// are the seconds to the target unless the run reached it without a resume.
nlohmann::json result_document(const RunOutcome& outcome, const RunConfig& config,
                               const WorkloadInfo& info, const ResultFiles& files);

/// For a run that ended by an error: the same keys, null if unknown.
nlohmann::json failure_document(const base::Failure& failure);

/// Writes the first document given to it and ignores later ones; thread-safe.
class ResultSink {
 public:
  /// `target`: a file, "-" for `out`, "" for no output. `out` outlives this object.
  ResultSink(std::string target, std::ostream& out) : target_(std::move(target)), out_(out) {}
  /// Throws SystemError.
  void write(const nlohmann::json& document);
  /// The same, then print(): the file first, as the reader of the text may be gone. Prints, too, if
  /// the document cannot be written.
  void write_and_print(const nlohmann::json& document, const std::function<void()>& print);
  bool is_wanted() const { return !target_.empty(); }
  bool owns_standard_output() const { return target_ == "-"; }

 private:
  std::string target_;
  std::ostream& out_;
  std::mutex mutex_;
  bool is_written_ = false;
};

}  // namespace runner

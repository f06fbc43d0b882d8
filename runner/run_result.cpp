// The result of a run as JSON.
#include "runner/run_result.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/documents.h"

namespace runner {
namespace {

using Json = nlohmann::json;

/// Null for NaN and infinities, which JSON lacks.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

Json result_document(const RunOutcome& outcome, const RunConfig& config, const WorkloadInfo& info,
                     const ResultFiles& files) {
  const bool is_whole = outcome.status == RunStatus::kSuccess && outcome.earlier_s == 0.0;
  const bool has_weights = outcome.status != RunStatus::kDiverged;
  return {{"schema", kResultSchema},
          {"kind", "run"},
          {"exit_code", static_cast<int>(exit_code(outcome.status))},
          {"status", to_string(outcome.status)},
          {"reason", outcome.reason},
          {"workload", info.name},
          {"benchmark",
           config.submission.benchmark.empty() ? info.benchmark : config.submission.benchmark},
          {"seed", config.seed},
          {"metric", outcome.target.key},
          {"target", outcome.target.main().value},
          {"quality", outcome.has_quality() ? finite(outcome.evaluations.back().quality) : Json()},
          {"epochs", outcome.epochs},
          {"time_to_train_s", is_whole ? Json(outcome.run_s) : Json()},
          {"run_s", outcome.run_s},
          {"earlier_parts_s", outcome.earlier_s},
          {"files",
           {{"log", files.log_path()},
            {"config", files.config_path()},
            {"telemetry", files.telemetry_path()},
            {"weights", has_weights ? Json(files.weights_path()) : Json()}}}};
}

Json failure_document(const base::Failure& failure) {
  return {{"schema", kResultSchema},
          {"kind", "run"},
          {"exit_code", static_cast<int>(failure.code)},
          {"status", "failed"},
          {"reason", failure.message},
          {"workload", nullptr},
          {"benchmark", nullptr},
          {"seed", nullptr},
          {"metric", nullptr},
          {"target", nullptr},
          {"quality", nullptr},
          {"epochs", nullptr},
          {"time_to_train_s", nullptr},
          {"run_s", nullptr},
          {"earlier_parts_s", nullptr},
          {"files", nullptr}};
}

void ResultSink::write(const Json& document) {
  const std::scoped_lock lock(mutex_);
  if (target_.empty() || is_written_) return;
  is_written_ = true;
  write_document(document, target_, out_);
}

void ResultSink::write_and_print(const Json& document, const std::function<void()>& print) {
  try {
    write(document);
  } catch (const base::Error&) {
    print();
    throw;
  }
  print();
}

}  // namespace runner

// A log that is judged by the rules while it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/mllog/log_writer.h"
#include "runner/mllog/rules/judge.h"
#include "runner/run_rules.h"

namespace runner {

/// Passes records on and judges them. From init_stop on, it reports a record that irrevocably
/// breaks a rule at once; earlier breaks belong to check_plan. Reading is safe from any thread.
class JudgedLog final : public mllog::RecordSink {
 public:
  /// All arguments must outlive this object. `on_finding` is called from the threads that write
  /// records.
  JudgedLog(mllog::RecordSink& next, const RunRules& rules,
            std::function<void(const mllog::Finding&)> on_finding);
  void write_line(const std::string& line) override;

  RulesMode mode() const { return mode_; }
  /// The first break since init_stop; "" if none.
  std::string first_break() const;
  /// The judgement of the log so far. For a finished log it equals that of `trainmark check
  /// --round`.
  mllog::rules::Judgement judgement() const;

 private:
  void look_for_breaks();

  mllog::RecordSink& next_;
  mllog::rules::Judge judge_;
  RulesMode mode_;
  std::function<void(const mllog::Finding&)> on_finding_;
  mutable std::mutex mutex_;
  std::int64_t lines_ = 0;
  bool initialized_ = false;
  std::string first_break_;
};

/// {"round", "ruleset", "mode", "passes", "errors", "failing_keys"} of a finished log.
nlohmann::json to_json(const RunRules& rules, const mllog::rules::Judgement& judgement);

/// "passes training-4.0", "fails training-4.0: eval_accuracy, opt_name and 2 more; ...".
std::string verdict_text(const RunRules& rules, const mllog::rules::Judgement& judgement);

}  // namespace runner

// A log that a judge reads while it is written.
// Hides that the judge reads lines, as it does of a file.
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

/// Passes records on and judges them. From init_stop on, a record that breaks a rule for good is
/// told at once: what was known before belongs to check_plan. May be asked from any thread.
class JudgedLog final : public mllog::RecordSink {
 public:
  /// All outlive it. `told` may be called from any thread that writes records.
  JudgedLog(mllog::RecordSink& next, const RunRules& rules,
            std::function<void(const mllog::Finding&)> told);
  void write_line(const std::string& line) override;

  RulesMode mode() const { return mode_; }
  /// The first break since init_stop; "" for none.
  std::string first_break() const;
  /// Of the log so far: of a finished one, that of `trainmark check --round` of its file.
  mllog::rules::Judgement judgement() const;

 private:
  void look_for_breaks();

  mllog::RecordSink& next_;
  mllog::rules::Judge judge_;
  RulesMode mode_;
  std::function<void(const mllog::Finding&)> told_;
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

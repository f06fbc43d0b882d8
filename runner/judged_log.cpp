// Judges each record of a log as it is written.
#include "runner/judged_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace runner {
namespace {

using mllog::rules::Judgement;
using mllog::rules::KeyFinding;
using Severity = mllog::Finding::Severity;

std::int64_t errors_of(const Judgement& judgement) {
  return std::count_if(
      judgement.findings.begin(), judgement.findings.end(),
      [](const KeyFinding& found) { return found.finding.severity == Severity::kError; });
}

const char* to_string(RulesMode mode) { return mode == RulesMode::kStrict ? "strict" : "warn"; }

}  // namespace

JudgedLog::JudgedLog(mllog::RecordSink& next, const RunRules& rules,
                     std::function<void(const mllog::Finding&)> on_finding)
    : next_(next), judge_(rules.ruleset), mode_(rules.mode), on_finding_(std::move(on_finding)) {}

void JudgedLog::write_line(const std::string& line) {
  next_.write_line(line);
  const std::lock_guard lock(mutex_);
  ++lines_;
  std::istringstream text(line);
  mllog::RecordReader reader(text);
  while (auto item = reader.next()) {
    std::visit(
        [this](auto& one) {
          one.line = lines_;
          judge_.add(one);
        },
        *item);
    const auto* const record = std::get_if<mllog::Record>(&*item);
    initialized_ = initialized_ || (record != nullptr && record->key == mllog::keys::kInitStop);
  }
  if (initialized_) look_for_breaks();
}

/// Reports only findings on the line just written: records that are still missing may yet come.
void JudgedLog::look_for_breaks() {
  for (const KeyFinding& found : judge_.judgement().findings) {
    const mllog::Finding& finding = found.finding;
    if (finding.line != lines_ || finding.severity != Severity::kError) continue;
    if (first_break_.empty()) first_break_ = finding.text + " [" + finding.rule + "]";
    on_finding_(finding);
  }
}

std::string JudgedLog::first_break() const {
  const std::lock_guard lock(mutex_);
  return first_break_;
}

Judgement JudgedLog::judgement() const {
  const std::lock_guard lock(mutex_);
  return judge_.judgement();
}

nlohmann::json to_json(const RunRules& rules, const Judgement& judgement) {
  return {{"round", rules.round()},         {"ruleset", judgement.ruleset},
          {"mode", to_string(rules.mode)},  {"passes", judgement.passes},
          {"errors", errors_of(judgement)}, {"failing_keys", judgement.failing_keys}};
}

std::string verdict_text(const RunRules& rules, const Judgement& judgement) {
  constexpr std::size_t kMostKeys = 6;
  if (judgement.passes) return "passes " + rules.round();
  std::vector<std::string> keys = judgement.failing_keys;
  const std::size_t more = keys.size() > kMostKeys ? keys.size() - kMostKeys : 0;
  keys.resize(keys.size() - more);
  return fmt::format("fails {}: {}{}; `trainmark check` tells why", rules.round(),
                     fmt::join(keys, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace runner

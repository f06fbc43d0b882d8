// The check of a plan, and the mapping from keys of the log to keys of the configuration.
#include "runner/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/plan_rules.h"
#include "runner/planned_log.h"
#include "runner/together.h"

namespace runner {
namespace {

using Severity = mllog::Finding::Severity;
using mllog::rules::PlanRuleName;
namespace keys = mllog::keys;

/// The configuration keys of log keys that every workload has.
constexpr std::pair<const char*, const char*> kCommonSettings[] = {
    {keys::kSubmissionBenchmark, "/submission/benchmark"},
    {keys::kSubmissionDivision, "/submission/division"},
    {keys::kSubmissionOrg, "/submission/org"},
    {keys::kSubmissionPlatform, "/submission/platform"},
    {keys::kSubmissionStatus, "/submission/status"},
    {keys::kCacheClear, "/clear_caches"},
    {keys::kGlobalBatchSize, "/training/global_batch_size"},
    {keys::kGradientAccumulationSteps, "/training/gradient_accumulation_steps"},
    {keys::kSeed, "/seed"},
    {keys::kEvalAccuracy, "/target/quality"},
    {keys::kEvalError, "/target/quality"}};

/// The configuration keys of audits that concern no log key.
constexpr std::pair<std::string_view, const char*> kAuditedSettings[] = {
    {"evaluation-cadence", "/evaluation"},
    {"first-evaluation", "/evaluation"},
    {"target-not-of-rules", "/target/quality"}};

/// Collects breaks and finds the setting that each concerns.
class Breaks {
 public:
  explicit Breaks(std::map<std::string, std::string> settings) : settings_(std::move(settings)) {
    settings_.insert(std::begin(kCommonSettings), std::end(kCommonSettings));
  }

  void add(const mllog::Finding& finding, const std::string& key) {
    list_.push_back({finding.severity, finding.rule, setting_of(key), finding.text});
  }
  void add(RuleBreak one) { list_.push_back(std::move(one)); }

  /// Adds an audit's finding unless the rules already report an error of the same setting.
  void add_audited(const mllog::Finding& finding) {
    std::string setting = setting_of(finding.text.substr(0, finding.text.find(' ')));
    for (const auto& [rule, of_rule] : kAuditedSettings) {
      if (finding.rule == rule) setting = of_rule;
    }
    const bool is_known = std::any_of(list_.begin(), list_.end(), [&](const RuleBreak& one) {
      return one.severity == Severity::kError && !setting.empty() && one.setting == setting;
    });
    if (!is_known) list_.push_back({finding.severity, finding.rule, setting, finding.text});
  }

  std::vector<RuleBreak> take() && {
    std::stable_partition(list_.begin(), list_.end(),
                          [](const RuleBreak& one) { return one.severity == Severity::kError; });
    return std::move(list_);
  }

 private:
  std::string setting_of(const std::string& key) const {
    const auto found = settings_.find(key);
    return found == settings_.end() ? "" : found->second;
  }

  std::map<std::string, std::string> settings_;
  std::vector<RuleBreak> list_;
};

/// Rewords the judge's message on a target that no evaluation reaches: the evaluations are only
/// planned.
std::string of_plan(const std::string& text, double target) {
  const std::size_t count = text.find(", but none of ");
  if (count == std::string::npos) return text;
  return fmt::format("{}, but the run ends at {}", text.substr(0, count), target);
}

void judge_log(const std::string& log, const RunRules& rules, double target, Breaks& breaks) {
  mllog::rules::Judge judge(rules.ruleset);
  std::istringstream text(log);
  mllog::RecordReader reader(text);
  while (const auto item = reader.next()) {
    std::visit([&judge](const auto& one) { judge.add(one); }, *item);
  }
  mllog::rules::Judgement judgement = judge.judgement();
  for (auto& found : judgement.findings) {
    if (found.finding.rule.ends_with("/once")) {
      found.finding.text = of_plan(found.finding.text, target);
    }
    breaks.add(found.finding, found.key);
  }
}

RuleBreak plan_break(PlanRuleName name, const std::string& setting, const std::string& text) {
  const mllog::CatalogueRule& rule = mllog::rules::plan_rule(name);
  return {*rule.severity, std::string(rule.id), setting, text};
}

/// "/model/size: must be 128, got 8".
RuleBreak closed_break(const std::string& text) {
  constexpr char kBetween[] = ": ";
  const std::size_t end = text.find(kBetween);
  if (end == std::string::npos) return plan_break(PlanRuleName::kClosedSetting, "", text);
  return plan_break(PlanRuleName::kClosedSetting, text.substr(0, end),
                    text.substr(end + sizeof kBetween - 1));
}

void judge_settings(const RunToJudge& run, Breaks& breaks) {
  if (run.config.submission.division == "closed") {
    for (const std::string& text : run.workload.closed_rule_breaks()) {
      breaks.add(closed_break(text));
    }
  }
  if (run.config.clear_caches == "never") {
    breaks.add(plan_break(PlanRuleName::kCachesKept, "/clear_caches",
                          "caches must be cleared before a run, got never"));
  }
  if (run.config.submission.org == SubmissionConfig().org) {
    breaks.add(plan_break(PlanRuleName::kNoSubmitter, "/submission/org", "names no submitter yet"));
  }
  if (run.beginning == Beginning::kResumed) {
    breaks.add(plan_break(PlanRuleName::kRunResumed, "",
                          "a run that goes on from a checkpoint has no time to train: its log "
                          "cannot be submitted"));
  }
}

/// Whether every break is to be reported.
bool is_for_submission(const RunConfig& config) {
  return config.submission.division == "closed" || config.submission.org != SubmissionConfig().org;
}

}  // namespace

std::vector<RuleBreak> check_plan(const RunToJudge& run, const RunRules& rules,
                                  const AuditPlan& audit, const base::Clock& clock) {
  Breaks breaks(run.workload.log_settings());
  const std::string log = planned_log(run.config, run.workload, run.ranks, run.nodes, clock);
  const double target =
      run.config.has_target ? run.config.target_quality : run.workload.info().target.main().value;
  judge_log(log, rules, target, breaks);
  judge_settings(run, breaks);
  if (audit) {
    std::istringstream text(log);
    for (const mllog::Finding& finding : audit(text)) breaks.add_audited(finding);
  }
  return std::move(breaks).take();
}

PlanVerdict judge_plan(const RunConfig& config, Workload& workload, const RulesOptions& options,
                       Beginning beginning, const AuditPlan& audit, const Surroundings& around,
                       const base::Clock& clock) {
  workload.open_data();
  PlanVerdict verdict;
  on_rank_0(around.world, [&] {
    const WorkloadInfo& info = workload.info();
    verdict.rules = choose_rules(options, config, info.benchmark, clock);
    verdict.benchmark = logged_benchmark(config, info.benchmark);
    verdict.breaks =
        check_plan({config, workload, around.world.size(), around.topology.node_count, beginning},
                   *verdict.rules, audit, clock);
  });
  const bool refuses = options.mode == RulesMode::kStrict && count_errors(verdict.breaks) > 0;
  verdict.refused = around.world.allreduce_max(std::int64_t{refuses ? 1 : 0}) != 0;
  return verdict;
}

void print_verdict(const PlanVerdict& verdict, const RunConfig& config, Console& console) {
  constexpr std::int64_t kMostLines = 10;
  if (!verdict.rules) return;
  const std::string round = verdict.rules->round();
  const std::int64_t errors = count_errors(verdict.breaks);
  if (errors == 0) {
    console.info(
        fmt::format("rules: {} ({}): no break known before the run", round, verdict.rules->why));
    return;
  }
  const std::string head = fmt::format(
      "rules: as configured, this run breaks {} {} of {} ({}, {} division)", errors,
      errors == 1 ? "rule" : "rules", round, verdict.benchmark, config.submission.division);
  if (!verdict.refused && !is_for_submission(config)) {
    console.info(head + "; --dry-run lists them");
    return;
  }
  console.warn(head + " and cannot be valid:");
  std::int64_t lines = 0;
  for (const RuleBreak& one : verdict.breaks) {
    if (one.severity != Severity::kError) continue;
    if (!verdict.refused && ++lines > kMostLines) break;
    console.warn("  " + one.line());
  }
  if (!verdict.refused && errors > kMostLines) {
    console.warn(fmt::format("  and {} more, which --dry-run lists", errors - kMostLines));
  }
}

nlohmann::json to_json(const PlanVerdict& verdict) {
  if (!verdict.rules) return nullptr;
  return {{"round", verdict.rules->round()},
          {"ruleset", verdict.rules->ruleset.name},
          {"why", verdict.rules->why},
          {"errors", count_errors(verdict.breaks)},
          {"findings", to_json(verdict.breaks)}};
}

}  // namespace runner

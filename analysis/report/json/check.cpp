// Verdicts as a JSON document.
#include "analysis/report/json/check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "analysis/report/json/energy.h"
#include "analysis/report/json/optional.h"
#include "analysis/report/json/points.h"
#include "analysis/report/json/run_groups.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCheckSchema = 1;

/// A line or column; null if the finding is on the whole file.
Json place(std::int64_t number) { return number > 0 ? Json(number) : Json(nullptr); }

Json finding_json(const mllog::Finding& finding) {
  return {{"rule", base::printable(finding.rule)},
          {"severity", to_string(finding.severity)},
          {"line", place(finding.line)},
          {"column", place(finding.column)},
          {"text", base::printable(finding.text)},
          {"suppressed_because", finding.suppressed_because.empty()
                                     ? Json(nullptr)
                                     : Json(base::printable(finding.suppressed_because))}};
}

Json check_findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const mllog::Finding& finding : findings) list.push_back(finding_json(finding));
  return list;
}

Json file_json(const CheckedFile& file) {
  const mllog::rules::Judgement& judgement = file.judgement;
  Json findings = Json::array();
  for (const auto& found : judgement.findings) {
    Json one = finding_json(found.finding);
    one["key"] = found.key.empty() ? Json(nullptr) : Json(base::printable(found.key));
    findings.push_back(std::move(one));
  }
  return {
      {"verdict", to_string(file.verdict)},
      {"unknown_because",
       file.unknown_because.empty() ? Json(nullptr) : Json(base::printable(file.unknown_because))},
      {"ruleset", judgement.ruleset},
      {"why_this_ruleset", base::printable(file.why_this_ruleset)},
      {"rule_files", judgement.files},
      {"failing_keys", judgement.failing_keys},
      {"findings", std::move(findings)},
      {"audit", check_findings_json(file.audit)}};
}

Json rcp_json(const std::optional<submission::RcpResult>& result) {
  if (!result) return nullptr;
  Json advice = Json::array();
  for (const std::string& sentence : result->advice) advice.push_back(base::printable(sentence));
  return {{"outcome", submission::to_string(result->outcome)},
          {"passed", result->passed},
          {"bypassed", result->bypassed},
          {"benchmark", base::printable(result->benchmark)},
          {"unit", result->unit},
          {"batch_size", optional_json(result->batch_size)},
          {"submission_mean", optional_json(result->submission_mean)},
          {"p_value", optional_json(result->p_value)},
          {"reference", result->reference ? point_json(*result->reference) : Json(nullptr)},
          {"interpolated_between", result->between},
          {"normalization", result->normalization},
          {"era", result->era},
          {"source", result->points ? base::printable(result->points->source) : ""},
          {"message", base::printable(result->message)},
          {"advice", advice}};
}

Json sets_json(const CheckReport& report) {
  LargeObject sets(report.sets.size());
  for (const CheckedSet& set : report.sets) {
    sets.set(base::printable(set.name),
             {{"audit", check_findings_json(set.audit)}, {"rcp", rcp_json(set.rcp)}});
  }
  return std::move(sets).take();
}

const char* scaling_text(submission::Scaling scaling) {
  switch (scaling) {
    case submission::Scaling::kStrong:
      return "strong";
    case submission::Scaling::kWeak:
      return "weak";
    default:
      return nullptr;
  }
}

Json folder_json(const submission::PackageSet& set) {
  const char* const scaling = scaling_text(set.scaling);
  Json failing = Json::array();
  for (const std::string& run : set.failing_runs) failing.push_back(base::printable(run));
  return {{"system", base::printable(set.system)},
          {"benchmark", base::printable(set.benchmark)},
          {"scaling", scaling ? Json(scaling) : Json(nullptr)},
          {"runs", set.runs},
          {"runs_required", optional_json(set.runs_required)},
          {"failing_runs", failing},
          {"bypasses_rcp", set.bypasses_rcp},
          {"bypasses_seeds", set.bypasses_seeds},
          {"scaling_factor", optional_json(set.scaling_factor)},
          {"raw_score_min", optional_json(set.raw_score_min())},
          {"score_factor", set.score_factor()},
          {"score_min", optional_json(set.score_min())},
          {"rcp", rcp_json(set.rcp)},
          {"energy", set.energy ? energy_json(*set.energy) : Json(nullptr)}};
}

Json submission_json(const std::optional<CheckedSubmission>& checked) {
  if (!checked) return nullptr;
  Json folders = Json::object(), findings = Json::array(), submissions = Json::object();
  for (const SubmissionTotals& one : totals_of(*checked)) {
    submissions[base::printable(one.name)] = {{"verdict", one.errors == 0 ? "SUCCESS" : "FAIL"},
                                              {"errors", one.errors},
                                              {"warnings", one.warnings}};
  }
  for (const submission::PackageSet& set : checked->report.sets) {
    folders[base::printable(set.name)] = folder_json(set);
  }
  for (const submission::PackageFinding& found : checked->report.findings) {
    Json one = {{"path", base::printable(found.path)}};
    one.update(finding_json(found.finding));
    findings.push_back(std::move(one));
  }
  Json definitions = energy_definitions_json();
  definitions["raw_score_min"] = {
      {"definition",
       "mean time to train of the runs that count: without the fastest and the slowest run, of "
       "unet3d without four at each end; a failing run counts as a slowest"},
      {"unit", "min"}};
  definitions["score_factor"] = {
      {"definition", "scaling_factor, else the normalization of an RCP test that passed, else 1"},
      {"unit", ""}};
  definitions["score_min"] = {{"definition", "raw_score_min * score_factor"}, {"unit", "min"}};
  return {{"verdict", checked->report.passes() ? "SUCCESS" : "FAIL"},
          {"round", fmt::format("{}-{}", checked->round.usage, checked->round.round)},
          {"why_this_round", base::printable(checked->why_this_round)},
          {"submissions", submissions},
          {"folders", folders},
          {"definitions", definitions},
          {"findings", findings}};
}

Json suppressions_json(const CheckReport& report) {
  Json list = Json::array();
  for (const SuppressionUse& use : report.suppressions) {
    list.push_back({{"rule", base::printable(use.rule)},
                    {"path", base::printable(use.path)},
                    {"reason", base::printable(use.reason)},
                    {"findings", use.findings},
                    {"refused", use.refused}});
  }
  return list;
}

}  // namespace

std::string check_json_text(const CheckReport& report) {
  LargeObject files(report.files.size());
  for (const CheckedFile& file : report.files) {
    files.set(base::printable(file.name), file_json(file));
  }
  Json problems = Json::array();
  for (const Problem& problem : report.problems) {
    problems.push_back(
        {{"path", base::printable(problem.path)}, {"text", base::printable(problem.text)}});
  }
  const Json document = {{"schema", kCheckSchema},
                         {"files", std::move(files).take()},
                         {"sets", sets_json(report)},
                         {"run_groups", run_groups_json(report)},
                         {"submission", submission_json(report.submission)},
                         {"suppressions", suppressions_json(report)},
                         {"problems", std::move(problems)}};
  return base::json_text(document);
}

}  // namespace analysis::report

// Verdicts, rules and rounds as JSON documents.
// Hides their keys.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "analysis/report/energy_json.h"
#include "analysis/report/optional_json.h"
#include "analysis/report/rules_of_benchmark.h"
#include "analysis/report/run_groups_json.h"
#include "analysis/report/write_check.h"
#include "runner/base/printable.h"
#include "runner/mllog/rules/words.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr int kIndent = 1;

/// Null for the whole file.
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

Json findings_json(const std::vector<Finding>& findings) {
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
      {"audit", findings_json(file.audit)}};
}

Json point_json(const submission::ConvergencePoint& point) {
  const submission::MeanTest& test = point.test;
  return {{"batch_size", point.batch_size},
          {"mean", test.mean},
          {"stdev", test.stdev},
          {"runs", test.reference_runs},
          {"interval", {test.mean - test.half_width(), test.mean + test.half_width()}},
          {"least_mean", point.least_mean},
          {"pruned", point.pruned}};
}

Json bootstrap_json(const std::optional<submission::Bootstrap>& drawn,
                    const submission::ReferenceSet& set) {
  if (!drawn) return nullptr;
  Json quantiles = Json::array(), histogram = Json::array();
  for (const auto& [share, mean] : drawn->quantiles) {
    quantiles.push_back({{"share", share}, {"mean", mean}});
  }
  for (const submission::Bootstrap::Bin& bin : drawn->histogram) {
    histogram.push_back(
        {{"from", bin.from}, {"below", bin.to}, {"sets", bin.sets}, {"failing", bin.failing}});
  }
  return {{"batch_size", drawn->point.batch_size},
          {"reference_runs", drawn->reference_runs},
          {"runs_per_set", drawn->runs_per_set},
          {"sets", drawn->sets},
          {"seed", drawn->seed},
          {"least_mean", drawn->point.least_mean},
          {"passing", drawn->passing()},
          {"failing", drawn->failing()},
          {"standard_error", drawn->standard_error()},
          {"mean", drawn->mean},
          {"stdev", drawn->stdev},
          {"quantiles", quantiles},
          {"histogram", histogram},
          {"definitions",
           {{"sets", "drawn with replacement from the reference's runs at batch_size"},
            {"passing", "share of the sets whose mean is at least least_mean"},
            {"failing", "share of the sets whose mean is below least_mean"},
            {"standard_error", "of either share as an estimate of the probability"},
            {"mean", "of the sets' means, each without " + set.extremes()},
            {"stdev", "of the sets' means, divided by their number"},
            {"quantiles", "the least mean that at least that share of the sets do not exceed"},
            {"histogram", "sets by their means, and how many of them fail"}}}};
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
             {{"audit", findings_json(set.audit)}, {"rcp", rcp_json(set.rcp)}});
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

std::string text_of(const Json& json) {
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
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
  return text_of({{"schema", kSchema},
                  {"files", std::move(files).take()},
                  {"sets", sets_json(report)},
                  {"run_groups", run_groups_json(report)},
                  {"submission", submission_json(report.submission)},
                  {"suppressions", suppressions_json(report)},
                  {"problems", std::move(problems)}});
}

std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark) {
  Json files = Json::array();
  for (const mllog::rules::RuleFile* file : files_for(ruleset, benchmark)) {
    Json rules = Json::array();
    for (const mllog::rules::Rule& rule : file->rules) {
      rules.push_back({{"key", rule.key}, {"asks", mllog::rules::words(rule)}});
    }
    files.push_back({{"file", file->name}, {"rules", rules}});
  }
  return text_of({{"schema", kSchema},
                  {"ruleset", ruleset.name},
                  {"source", ruleset.round.source},
                  {"benchmark", benchmark},
                  {"files", files}});
}

std::string rounds_json_text(const mllog::rules::RuleBook& book) {
  Json rounds = Json::array();
  for (const mllog::rules::Round& round : book.rounds()) {
    rounds.push_back(
        {{"round", round.name()},
         {"published", round.published.empty() ? Json(nullptr) : Json(round.published)},
         {"benchmarks", round.benchmarks},
         {"closed_benchmarks", round.closed_benchmarks},
         {"source", round.source},
         {"no_rules_because",
          round.no_rules_because.empty() ? Json(nullptr) : Json(round.no_rules_because)}});
  }
  return text_of({{"schema", kSchema}, {"rounds", rounds}});
}

std::string points_json_text(const submission::ReferenceSet& set,
                             const submission::RcpEraFacts& era,
                             const std::optional<submission::Bootstrap>& drawn) {
  Json points = Json::array();
  const submission::ReferenceCurve curve(set, era.era);
  for (const auto& point : curve.points()) {
    points.push_back(point_json(point));
  }
  return text_of({{"schema", kSchema},
                  {"benchmark", set.benchmark},
                  {"usage", set.usage.empty() ? Json(nullptr) : Json(set.usage)},
                  {"round", set.round.empty() ? Json(nullptr) : Json(set.round)},
                  {"unit", set.unit},
                  {"runs_required", set.runs_required},
                  {"source", set.source},
                  {"era", era.name},
                  {"points", points},
                  {"bootstrap", bootstrap_json(drawn, set)}});
}

}  // namespace analysis::report

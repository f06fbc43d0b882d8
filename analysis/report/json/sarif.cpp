// Findings as SARIF 2.1.0.
#include "analysis/report/json/sarif.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/findings/rule_catalogue.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSarifSchema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr char kVerdictRule[] = "verdict";

/// A path as a URI reference (RFC 3986): other bytes than those allowed become %XX.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=@";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return uri;
}

Json text_json(std::string_view text) { return {{"text", base::printable(text)}}; }

Json rule_json(const CatalogueRule& rule) {
  Json json = {
      {"id", rule.id},
      {"shortDescription", text_json(rule.meaning)},
      {"fullDescription", text_json(fmt::format("{} Source: {}.", rule.meaning, rule.source))}};
  if (!rule.advice.empty()) json["help"] = text_json(rule.advice);
  if (rule.severity) json["defaultConfiguration"] = {{"level", to_string(*rule.severity)}};
  return json;
}

/// The rules of a document and their indices.
class Rules {
 public:
  Rules() {
    for (const CatalogueRule& rule : rule_catalogue()) add(rule_json(rule));
  }
  /// Index of the rule. One outside the catalogue is added, with its id only.
  std::size_t index_of(const std::string& id) {
    const auto found = places_.find(id);
    return found == places_.end() ? add({{"id", id}}) : found->second;
  }
  Json take() && { return std::move(list_); }

 private:
  std::size_t add(Json rule) {
    const std::size_t place = list_.size();
    places_.emplace(rule["id"].get<std::string>(), place);
    list_.push_back(std::move(rule));
    return place;
  }
  Json list_ = Json::array();
  std::map<std::string, std::size_t> places_;
};

Json location_json(const std::string& file, std::size_t artifact, const Finding* finding) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(file)}, {"index", artifact}}}};
  if (finding && finding->line > 0) {
    Json& region = physical["region"] = {{"startLine", finding->line}};
    if (finding->column > 0) region["startColumn"] = finding->column;
  }
  return {{"physicalLocation", physical}};
}

Json result_json(const std::string& rule, std::size_t index, const std::string& level,
                 const std::string& text, const Json& location) {
  return {{"ruleId", rule},
          {"ruleIndex", index},
          {"level", level},
          {"message", text_json(text)},
          {"locations", Json::array({location})}};
}

void add_results(const JudgedFile& file, std::size_t artifact, Rules& rules, Json& results) {
  if (file.verdict == Verdict::kUnknown) {
    results.push_back(result_json(kVerdictRule, rules.index_of(kVerdictRule), "warning",
                                  "UNKNOWN: " + file.unknown_because,
                                  location_json(file.file, artifact, nullptr)));
  }
  if (file.verdict == Verdict::kFail) {
    results.push_back(result_json(kVerdictRule, rules.index_of(kVerdictRule), "error",
                                  "FAIL: it breaks a rule that counts",
                                  location_json(file.file, artifact, nullptr)));
  }
  for (const Finding& finding : file.findings) {
    const std::string rule = finding.rule.empty() ? "unnamed" : base::printable(finding.rule);
    Json result = result_json(rule, rules.index_of(rule), to_string(finding.severity), finding.text,
                              location_json(file.file, artifact, &finding));
    if (!finding.suppressed_because.empty()) {
      const Json answer = {{"kind", "external"},
                           {"justification", base::printable(finding.suppressed_because)}};
      result["suppressions"] = Json::array({answer});
    }
    results.push_back(std::move(result));
  }
}

}  // namespace

std::string findings_sarif(const std::vector<JudgedFile>& files, const std::string& version) {
  Rules rules;
  Json artifacts = Json::array(), results = Json::array();
  for (const JudgedFile& file : files) {
    artifacts.push_back({{"location", {{"uri", uri_of(file.file)}}},
                         {"encoding", "ISO-8859-1"},
                         {"properties", {{"verdict", to_string(file.verdict)}}}});
    add_results(file, artifacts.size() - 1, rules, results);
  }
  const Json driver = {{"name", "trainmark"},
                       {"version", base::printable(version)},
                       {"rules", std::move(rules).take()}};
  const Json run = {{"tool", {{"driver", driver}}},
                    {"columnKind", "unicodeCodePoints"},
                    {"artifacts", artifacts},
                    {"results", results}};
  const Json document = {
      {"$schema", kSarifSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
  return base::json_text(document);
}

}  // namespace analysis::report

// Suppressions of findings.
#include "analysis/findings/suppressions.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/audit_rules.h"
#include "analysis/findings/rule_catalogue.h"
#include "analysis/side_files.h"
#include "analysis/submission/package_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using nlohmann::json;

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// The rules whose findings may be suppressed.
std::vector<std::string> suppressible_rules() {
  std::vector<std::string> ids;
  for (const AuditRule& rule : audit_rules()) ids.emplace_back(rule.entry.id);
  for (const mllog::CatalogueRule& rule : submission::package_rules()) ids.emplace_back(rule.id);
  return ids;
}

void require_rule(const std::string& pattern, const std::string& where) {
  const std::vector<std::string> ids = suppressible_rules();
  if (std::any_of(ids.begin(), ids.end(),
                  [&](const std::string& id) { return matches(pattern, id); })) {
    return;
  }
  const std::string nearest = base::nearest_name(pattern, ids);
  throw ConfigError(fmt::format(
      "{}: must match a rule of the audit or of the check of submissions, got {}{}", where, pattern,
      nearest.empty() ? "; rules of verdicts are never suppressed"
                      : " (did you mean " + nearest + "?)"));
}

Suppression read_suppression(const json& entry, const std::string& name) {
  const base::ObjectReader in(entry, name);
  Suppression one;
  one.rule = in.required("rule", "name or pattern of a rule", base::not_empty());
  one.path = in.required("path", "name or pattern of logs and folders", base::not_empty());
  one.reason = in.required("reason", "why the finding may be ignored", base::not_empty());
  in.reject_unknown();
  require_rule(one.rule, in.where("rule"));
  return one;
}

json parse(const fs::path& file) {
  std::string problem;
  const auto text = read_side_text(file, problem);
  if (!text) throw ConfigError(fmt::format("--suppress {}: {}", file.string(), problem));
  try {
    return base::parse_strict_json(*text, file.string(), base::JsonComments::kAllowed);
  } catch (const base::DataError& e) {
    throw ConfigError(e.what());
  }
}

/// Marks findings, and counts the matches of each entry.
class Marker {
 public:
  Marker(const std::vector<Suppression>& entries, std::vector<SuppressionUse>& uses)
      : entries_(entries), uses_(uses) {
    for (const Suppression& entry : entries) {
      uses_.push_back({entry.rule, entry.path, entry.reason, 0, 0});
    }
  }

  void mark(const std::string& path, Finding& finding, bool decides) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!matches(entries_[i].rule, finding.rule) || !matches(entries_[i].path, path)) continue;
      if (decides) {
        ++uses_[i].refused;
      } else {
        ++uses_[i].findings;
        finding.suppressed_because = entries_[i].reason;
      }
      return;
    }
  }

 private:
  const std::vector<Suppression>& entries_;
  std::vector<SuppressionUse>& uses_;
};

}  // namespace

std::vector<Suppression> read_suppressions(const fs::path& file) {
  const json root = parse(file);
  const std::string name = file.string();
  if (!root.is_object() || root.size() != 1 || !root.contains("suppressions") ||
      !root["suppressions"].is_array()) {
    throw ConfigError(name + R"(: must be {"suppressions": [...]} and nothing else)");
  }
  std::vector<Suppression> all;
  for (const json& entry : root["suppressions"]) {
    all.push_back(read_suppression(entry, fmt::format("{}: /suppressions/{}", name, all.size())));
  }
  return all;
}

void suppress(CheckReport& report, const std::vector<Suppression>& suppressions) {
  Marker marker(suppressions, report.suppressions);
  for (CheckedFile& file : report.files) {
    for (Finding& finding : file.audit) marker.mark(file.name, finding, false);
  }
  for (CheckedSet& set : report.sets) {
    for (Finding& finding : set.audit) marker.mark(set.name, finding, false);
  }
  if (!report.submission) return;
  for (submission::PackageFinding& found : report.submission->report.findings) {
    marker.mark(found.path, found.finding, found.finding.severity == Finding::Severity::kError);
  }
}

}  // namespace analysis

// Checks systems/<system>.json: is it complete and valid, and does it agree with the logs?
#include "analysis/submission/system_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/numbers.h"
#include "analysis/side_files.h"
#include "analysis/submission/package_facts.h"
#include "analysis/systems.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Names = std::vector<std::string>;

std::string lower(std::string text) {
  for (char& character : text) {
    character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  return text;
}

std::string joined(const Names& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

bool is_in(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string text_in(const json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A number, or a string with only a number; descriptions use both.
std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : number_in(*found);
}

bool is_count(const json& value) {
  const std::optional<double> number = number_in(value);
  constexpr double kMost = 1e9;
  return number && *number >= 0.0 && *number <= kMost &&
         *number == static_cast<double>(static_cast<std::int64_t>(*number));
}

bool is_blank(const json& value) {
  if (value.is_null()) return true;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

/// Judges one description.
class Judge {
 public:
  Judge(const json& object, const std::string& name, const PackageRound& round,
        PackageFindings& findings)
      : object_(object),
        name_(name),
        round_(round),
        facts_(package_facts().system_description),
        findings_(findings) {}

  void judge_presence();
  void judge_names();
  void judge_choices();
  void judge_values();

 private:
  /// The official tools check descriptions since round 1.0.
  Severity broken() const { return round_.at_least("1.0") ? Severity::kError : Severity::kWarning; }
  void add_finding(Severity severity, const char* rule, const std::string& text) {
    findings_.add(severity, name_, rule, text);
  }
  void add_finding(const char* rule, const std::string& text) { findings_.add(name_, rule, text); }
  const json* find(const std::string& field) const {
    const auto found = object_.find(field);
    return found == object_.end() ? nullptr : &*found;
  }

  const json& object_;
  const std::string& name_;
  const PackageRound& round_;
  const SystemDescriptionFacts& facts_;
  PackageFindings& findings_;
};

void Judge::judge_presence() {
  Names missing, empty;
  for (const std::string& field : facts_.required) {
    const json* const value = find(field);
    if (!value) {
      missing.push_back(field);
    } else if (is_in(facts_.never_empty, field) && is_blank(*value)) {
      empty.push_back(field);
    }
  }
  if (!missing.empty()) {
    add_finding(broken(), "system.field-missing",
                fmt::format("{} of {} required fields are missing: {}", missing.size(),
                            facts_.required.size(), joined(missing)));
  }
  if (!empty.empty()) {
    add_finding("system.field-empty", "fields that say nothing: " + joined(empty));
  }
}

/// A field that is not required is allowed, but one may be a misspelt name of a missing field.
void Judge::judge_names() {
  Names missing, others;
  for (const std::string& field : facts_.required) {
    if (!find(field)) missing.push_back(field);
  }
  for (const auto& [field, value] : object_.items()) {
    if (is_in(facts_.required, field)) continue;
    const std::string meant = base::nearest_name(field, missing);
    if (meant.empty()) {
      others.push_back(field);
    } else {
      add_finding(Severity::kWarning, "system.field-unknown",
                  fmt::format("{}: no field of a description; is {} meant, which is missing?",
                              field, meant));
    }
  }
  if (!others.empty()) {
    add_finding(Severity::kNote, "system.field-unknown",
                "fields that are not required: " + joined(others));
  }
}

void Judge::judge_choices() {
  const std::string division = text_in(object_, "division");
  if (find("division") && !is_in(facts_.divisions, division)) {
    add_finding(
        "system.division",
        fmt::format("division: expected one of {}, found {}; the official package checker takes "
                    "anything but closed for open",
                    joined(facts_.divisions), base::brief_json(*find("division"))));
  }
  const json* const status = find("status");
  if (!status || round_.usage != "training" || !round_.at_least(facts_.statuses_since_training)) {
    return;
  }
  if (!is_in(facts_.statuses, text_in(object_, "status"))) {
    add_finding(broken(), "system.status",
                fmt::format("status: expected one of '{}', found {}",
                            fmt::join(facts_.statuses, "', '"), base::brief_json(*status)));
  }
}

void Judge::judge_values() {
  Names stopping;
  for (const std::string& field : facts_.required) {
    const json* const value = find(field);
    if (!value || is_blank(*value)) continue;
    const bool counts = is_in(facts_.whole_numbers, field);
    if (counts && !is_count(*value)) {
      add_finding("system.field-type", fmt::format("{}: expected a whole number, found {}", field,
                                                   base::brief_json(*value)));
    } else if (!counts && !value->is_string() && field != "other_software_stack" &&
               !value->is_number()) {
      add_finding("system.field-type",
                  fmt::format("{}: expected text, found {}", field, base::brief_json(*value)));
    }
    const bool stops = is_in(facts_.text_for_the_official_checker, field) && !value->is_string();
    if (stops) stopping.push_back(field);
  }
  if (!stopping.empty()) {
    add_finding(
        "system.not-text",
        "MLCommons' checker stops with a traceback unless these are strings: " + joined(stopping));
  }
}

/// The submission_status values that a description's status may mean; none if it is unclear.
std::set<std::string> statuses_meant(const std::string& status) {
  const std::string text = lower(status);
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("cloud")) return {"cloud"};
  if (has("prem")) return {"onprem"};
  if (has("preview")) return {"preview"};
  if (has("research") || has("rdi")) return {"research"};
  if (has("available")) return {"cloud", "onprem"};
  return {};
}

/// Compares the logs of a set with its description.
class Comparison {
 public:
  Comparison(const SystemDescription& description, const PackageRuns& set,
             PackageFindings& findings)
      : description_(description), set_(set), findings_(findings) {}

  /// `differs` returns the log's value if it is not the description's.
  template <class Differs>
  void compare(const char* rule, const char* what, const std::string& described, Differs differs) {
    std::size_t count = 0;
    const PackageRun* first = nullptr;
    std::string found;
    for (const PackageRun& run : set_.runs) {
      const std::optional<std::string> other = differs(run.log);
      if (!other || ++count > 1) continue;
      first = &run;
      found = *other;
    }
    if (!first) return;
    findings_.add(first->name, rule,
                  fmt::format("{} {} in {} of {} logs, but {} in {}", what, found, count,
                              set_.runs.size(), described, description_.name));
  }

 private:
  const SystemDescription& description_;
  const PackageRuns& set_;
  PackageFindings& findings_;
};

using Said = std::optional<std::string>;

}  // namespace

bool SystemDescription::is_meant_closed() const { return lower(division) == "closed"; }

std::optional<SystemDescription> check_description(std::string_view text, const std::string& name,
                                                   const PackageRound& round,
                                                   PackageFindings& findings) {
  std::string problem;
  const json object = side_object(text, problem);
  if (!problem.empty()) {
    findings.add(name, "system.unreadable", problem);
    return std::nullopt;
  }
  for (const std::string& member : repeated_members(text)) {
    findings.add(name, "package.repeated-member", member);
  }
  Judge judge(object, name, round, findings);
  judge.judge_presence();
  judge.judge_names();
  judge.judge_choices();
  judge.judge_values();
  return SystemDescription{name,
                           text_in(object, "submitter"),
                           text_in(object, "division"),
                           text_in(object, "status"),
                           number_in(object, "number_of_nodes"),
                           number_in(object, "accelerators_per_node")};
}

std::optional<SystemDescription> check_description_file(const fs::path& path,
                                                        const std::string& name,
                                                        const PackageRound& round,
                                                        PackageFindings& findings) {
  std::string problem;
  const std::optional<std::string> text = read_side_text(path, problem);
  if (text) return check_description(*text, name, round, findings);
  findings.add(name, "system.unreadable", problem);
  return std::nullopt;
}

void compare_with_logs(const SystemDescription& description, const PackageRuns& set,
                       PackageFindings& findings) {
  Comparison comparison(description, set, findings);
  if (!description.submitter.empty()) {
    comparison.compare("system.log-submitter", "submission_org is", description.submitter,
                       [&](const PackageLog& log) -> Said {
                         if (!log.org || !is_other_organisation(*log.org, description.submitter))
                           return std::nullopt;
                         return log.org;
                       });
  }
  if (!description.division.empty()) {
    comparison.compare("system.log-division", "submission_division is", description.division,
                       [&](const PackageLog& log) -> Said {
                         if (!log.division || lower(*log.division) == lower(description.division))
                           return std::nullopt;
                         return log.division;
                       });
  }
  const std::set<std::string> meant = statuses_meant(description.status);
  if (!meant.empty()) {
    comparison.compare("system.log-status", "submission_status is", description.status,
                       [&](const PackageLog& log) -> Said {
                         if (!log.status || meant.contains(lower(*log.status))) return std::nullopt;
                         return log.status;
                       });
  }
  if (const auto nodes = description.number_of_nodes) {
    const bool is_part = set.folder->scaling == Scaling::kWeak;
    comparison.compare("system.log-nodes", "number_of_nodes is", digits_text(*nodes),
                       [&](const PackageLog& log) -> Said {
                         const auto logged = log.number_of_nodes;
                         if (!logged || *logged == *nodes || (is_part && *logged < *nodes))
                           return std::nullopt;
                         return digits_text(*logged);
                       });
  }
  if (const auto accelerators = description.accelerators_per_node) {
    comparison.compare("system.log-accelerators", "accelerators_per_node is",
                       digits_text(*accelerators), [&](const PackageLog& log) -> Said {
                         const auto logged = log.accelerators_per_node;
                         if (!logged || *logged == *accelerators) return std::nullopt;
                         return digits_text(*logged);
                       });
  }
}

}  // namespace analysis::submission

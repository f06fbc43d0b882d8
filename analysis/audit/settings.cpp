// Audit of a log's settings and the form of its records: seeds, placeholders, hyperparameters
// outside the rules, repeated and conflicting values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "analysis/audit/parts.h"
#include "analysis/numbers.h"
#include "runner/base/printable.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/python_json.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;
using mllog::JsonText;

constexpr double kThroughputFactor = 1.5;
constexpr std::size_t kShownRepeats = 3;
constexpr std::size_t kShownBytes = 60;

std::string shown(const std::string& json) {
  return json.size() <= kShownBytes ? json : json.substr(0, kShownBytes - 3) + "...";
}

const Setting* setting_of(const AuditInput& input, std::string_view key) {
  const auto found = input.log.oddities.settings.find(std::string(key));
  return found == input.log.oddities.settings.end() ? nullptr : &found->second;
}

void audit_seed(const AuditInput& input, AuditFindings& findings) {
  const Setting* seed = setting_of(input, keys::kSeed);
  if (!seed) {
    if (input.closed) {
      findings.add_finding(Rule::kSeedMissing, {},
                           "no seed is logged, expected one in the closed division");
    }
    return;
  }
  if (seed->json == "null") {
    findings.add_finding(Rule::kSeedNull, seed->place, "the seed is null, expected an integer");
  } else if (!seed->json.empty() &&
             seed->json.find_first_not_of("-0123456789") != std::string::npos) {
    findings.add_finding(Rule::kSeedNotWhole, seed->place,
                         "the seed must be an integer, got " + shown(seed->json));
  }
  if (!seed->other_json.empty()) {
    findings.add_finding(Rule::kSeveralSeeds, seed->other_place,
                         fmt::format("{} seeds are logged, {} and {} are the first two that differ",
                                     seed->count, shown(seed->json), shown(seed->other_json)));
  }
}

bool is_placeholder(std::string text) {
  constexpr std::array kWhole = {
      "", "reference_implementation", "unknown", "n/a", "na", "none", "tbd", "todo", "xxx", "???"};
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text.find("placeholder") != std::string::npos ||
         std::find(kWhole.begin(), kWhole.end(), text) != kWhole.end();
}

void audit_placeholders(const AuditInput& input, AuditFindings& findings) {
  for (const char* key : {keys::kSubmissionOrg, keys::kSubmissionPlatform, keys::kSubmissionPocName,
                          keys::kSubmissionPocEmail}) {
    const Setting* setting = setting_of(input, key);
    if (!setting) continue;
    const std::optional<std::string> text = JsonText(setting->json).string();
    if (!text || !is_placeholder(*text)) continue;
    findings.add_finding(Rule::kPlaceholder, setting->place,
                         fmt::format("{} is {}", key, shown(setting->json)));
  }
}

void audit_repeats(const AuditInput& input, AuditFindings& findings) {
  std::vector<std::string> told;
  std::size_t keys_repeated = 0;
  Place first;
  const auto note = [&](const std::string& key, std::int64_t times, Place place) {
    if (keys_repeated++ < kShownRepeats) told.push_back(fmt::format("{} {} times", key, times));
    if (first.line == 0 || place.line < first.line) first = place;
  };
  for (const auto& [key, place] : input.log.oddities.repeats) {
    note(key, input.log.counts.at(key), place);
  }
  for (const auto& [key, setting] : input.log.oddities.settings) {
    if (!setting.other_json.empty() && key != keys::kSeed) {
      findings.add_finding(Rule::kConflictingValues, setting.other_place,
                           fmt::format("{} is {} first and {} here; the first is used", key,
                                       shown(setting.json), shown(setting.other_json)));
    } else if (setting.count > 1 && setting.other_json.empty()) {
      note(key, setting.count, setting.again);
    }
  }
  if (keys_repeated == 0) return;
  const std::string more =
      keys_repeated > told.size() ? fmt::format(" and {} more", keys_repeated - told.size()) : "";
  findings.add_finding(
      Rule::kRepeatedKeys, first,
      fmt::format("keys that a log should have once: {}{}", fmt::join(told, ", "), more));
}

/// The first value, of `value` itself or a list in it, that is not a number for which `holds` is
/// true; absent if there is none.
template <class Holds>
std::optional<std::string> broken_by(const Holds& holds, const nlohmann::json& value) {
  if (value.is_array()) {
    for (const nlohmann::json& item : value) {
      if (const auto broken = broken_by(holds, item)) return broken;
    }
    return std::nullopt;
  }
  if (value.is_number() && holds(value.get<double>())) return std::nullopt;
  return shown(mllog::to_python_json(value));
}

void audit_bounds(const AuditInput& input, AuditFindings& findings) {
  if (!input.closed || !input.benchmark) return;
  const auto batch = number(input.facts.config_value(keys::kGlobalBatchSize));
  for (const mllog::SettingBound& bound : input.benchmark->bounds) {
    if (bound.batch_below && !(batch && *batch < *bound.batch_below)) continue;
    const Setting* setting = setting_of(input, bound.key);
    if (!setting || setting->json.empty()) continue;
    const auto holds = [&](double value) { return bound.met_by(value); };
    if (const auto broken = broken_by(holds, JsonText(setting->json).decoded())) {
      findings.add_finding(Rule::kHyperparameter, setting->place,
                           fmt::format("{} {}, got {}", bound.key, bound.words(), *broken));
    }
  }
}

void audit_samples(const AuditInput& input, AuditFindings& findings) {
  if (!input.closed || !input.benchmark) return;
  const auto audit_one = [&](const char* key, const std::vector<std::int64_t>& counts) {
    const Setting* setting = setting_of(input, key);
    if (counts.empty() || !setting || setting->json.empty()) return;
    const auto holds = [&](double value) {
      return std::ranges::any_of(
          counts, [&](std::int64_t count) { return static_cast<double>(count) == value; });
    };
    if (const auto broken = broken_by(holds, JsonText(setting->json).decoded())) {
      findings.add_finding(Rule::kSampleCount, setting->place,
                           fmt::format("{} is {}, the dataset of {} has {}", key, *broken,
                                       input.benchmark->name, counts.front()));
    }
  };
  audit_one(keys::kTrainSamples, input.benchmark->train_samples);
  audit_one(keys::kEvalSamples, input.benchmark->eval_samples);
}

void audit_throughput(const AuditInput& input, AuditFindings& findings) {
  const auto& reported = input.facts.reported_throughput_mean;
  const auto& computed = input.facts.train_throughput;
  if (!reported || !computed || *reported <= 0.0 || *computed <= 0.0) return;
  const double factor = std::max(*reported / *computed, *computed / *reported);
  if (factor < kThroughputFactor || input.log.throughputs.empty()) return;
  findings.add_finding(
      Rule::kThroughputUnit, input.log.first_throughput,
      fmt::format("the log's throughput is {} in the mean, its times give {} samples/s",
                  short_number(reported), short_number(computed)));
}

}  // namespace

void audit_form(const AuditInput& input, AuditFindings& findings) {
  const LogOddities& odd = input.log.oddities;
  for (const auto& [key, seen] : odd.wrong_event_types) {
    findings.add_finding(Rule::kEventTypeWrong, seen.first,
                         fmt::format("{} has event_type {} in {}, first here", key, seen.what,
                                     base::counted(seen.count, "record")));
  }
  for (const auto& [key, seen] : odd.repeated_members) {
    findings.add_finding(Rule::kMemberRepeated, seen.first,
                         fmt::format("{} has its {} twice in {}, first here; the last one counts",
                                     key, seen.what, base::counted(seen.count, "record")));
  }
  if (odd.no_event_type.count > 0) {
    findings.add_finding(Rule::kEventTypeMissing, odd.no_event_type.first,
                         fmt::format("{} records have no known event_type ({}), first here",
                                     odd.no_event_type.count, odd.no_event_type.what));
  }
  if (const std::string problem = input.log.staging.problem(); !problem.empty()) {
    findings.add_finding(Rule::kStagingFactsDamaged, odd.staging,
                         "staging_stop: metadata " + problem);
  }
  if (odd.odd_metadata.count > 0) {
    findings.add_finding(
        Rule::kMetadataNotObject, odd.odd_metadata.first,
        fmt::format("{} records have metadata that is not an object ({}), first here",
                    odd.odd_metadata.count, odd.odd_metadata.what));
  }
}

void audit_settings(const AuditInput& input, AuditFindings& findings) {
  audit_seed(input, findings);
  audit_placeholders(input, findings);
  audit_repeats(input, findings);
  audit_bounds(input, findings);
  audit_samples(input, findings);
  audit_throughput(input, findings);
}

}  // namespace analysis

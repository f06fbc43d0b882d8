// Synthetic logs: a clean one of each benchmark, which tests then change.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/golden.h"
#include "runner/base/temporary_directory.h"

namespace own_log {

using nlohmann::json;

constexpr double kStartMs = 1.7e12;

inline const char* event_type_of(const std::string& key) {
  if (key.ends_with("_start")) return "INTERVAL_START";
  if (key.ends_with("_stop")) return "INTERVAL_END";
  return "POINT_IN_TIME";
}

/// `ms` counts from kStartMs.
inline json record(double ms, const std::string& key, const json& value = nullptr,
                   json metadata = json::object()) {
  metadata["file"] = "own.cpp";
  metadata["lineno"] = 1;
  return {{"namespace", ""},
          {"time_ms", static_cast<std::int64_t>(kStartMs + ms)},
          {"event_type", event_type_of(key)},
          {"key", key},
          {"value", value},
          {"metadata", metadata}};
}

class Log {
 public:
  std::vector<json> records;

  Log& add(double ms, const std::string& key, const json& value = nullptr,
           const json& metadata = json::object()) {
    records.push_back(record(ms, key, value, metadata));
    return *this;
  }
  std::vector<json>::iterator find(const std::string& key, int number = 0) {
    auto at = records.begin();
    while (true) {
      at = std::find_if(at, records.end(), [&](const json& one) { return one["key"] == key; });
      if (at == records.end()) throw std::runtime_error(key + ": not in this log");
      if (number-- == 0) return at;
      ++at;
    }
  }
  json& operator[](const std::string& key) { return *find(key); }
  json& at(const std::string& key, int number) { return *find(key, number); }
  Log& erase(const std::string& key) {
    std::erase_if(records, [&](const json& one) { return one["key"] == key; });
    return *this;
  }
  Log& insert_before(const std::string& key, const json& one) {
    records.insert(find(key), one);
    return *this;
  }
  Log& insert_after(const std::string& key, const json& one) {
    records.insert(find(key) + 1, one);
    return *this;
  }
  /// Applies `change` to every record of `key`.
  Log& each(const std::string& key, const std::function<void(json&)>& change) {
    for (json& one : records) {
      if (one["key"] == key) change(one);
    }
    return *this;
  }
  /// The line of a record, from 1, in text().
  std::int64_t line(const std::string& key, int number = 0) {
    return find(key, number) - records.begin() + 1;
  }
  std::string text(const std::string& prefix = "", const std::string& line_end = "\n") const {
    std::string all;
    for (const json& one : records) all += prefix + ":::MLLOG " + one.dump() + line_end;
    return all;
  }
};

/// A log of the closed division without findings, with three evaluations, the last at target. An
/// epoch takes 10 s, the last of which is its evaluation; in resnet every fourth epoch has one.
inline Log clean(const std::string& benchmark = "cosmoflow") {
  const mllog::QualityTarget& target = mllog::find_benchmark(benchmark)->evaluation().target;
  const bool rises = target.main().direction == mllog::Direction::kRises;
  const int epochs_each = benchmark == "resnet" ? 4 : 1;
  const std::vector<double> qualities =
      rises ? std::vector<double>{0.3, 0.5, 0.85} : std::vector<double>{0.3, 0.2, 0.03};
  const json train_samples = {{"cosmoflow", 524288},     {"deepcam", 121266}, {"oc20", 2000000},
                              {"openfold", 594595},      {"resnet", 1281167}, {"dlrm", 4195197692},
                              {"dlrm_dcnv2", 4195197692}};
  const json eval_samples = {{"cosmoflow", 65536},    {"deepcam", 15158}, {"oc20", 999866},
                             {"openfold", 180},       {"resnet", 50000},  {"dlrm", 89137319},
                             {"dlrm_dcnv2", 89137319}};
  Log log;
  log.add(0, "submission_benchmark", benchmark).add(0, "submission_org", "Example Lab");
  log.add(0, "submission_division", "closed").add(0, "submission_status", "onprem");
  log.add(0, "submission_platform", "1x example node").add(1, "cache_clear", true);
  log.add(2, "init_start").add(3, "seed", 7).add(3, "global_batch_size", 64);
  log.add(3, "train_samples", train_samples[benchmark]);
  log.add(3, "eval_samples", eval_samples[benchmark]).add(3, "number_of_nodes", 1);
  log.add(3, "accelerators_per_node", 0).add(3, "gradient_accumulation_steps", 1);
  log.add(900, "init_stop").add(1000, "run_start");
  log.add(1000, "staging_start").add(4000, "staging_stop");
  double ms = 4000;
  int epoch = 0;
  for (const double quality : qualities) {
    for (int i = 0; i < epochs_each; ++i) {
      const json number = {{"epoch_num", ++epoch}};
      log.add(ms, "epoch_start", nullptr, number);
      ms += 10000;
      if (i + 1 == epochs_each) {
        log.add(ms - 1000, "eval_start", nullptr, number);
        log.add(ms, target.key.data(), quality, number).add(ms, "eval_stop", nullptr, number);
      }
      log.add(ms, "epoch_stop", nullptr, number);
    }
  }
  log.add(ms, "run_stop", nullptr, {{"status", "success"}});
  return log;
}

/// A clean log that meets the rules of HPC 0.7, for run n: n seconds later, with other results and
/// another seed.
inline Log run_of(int n) {
  Log log = clean();
  const json settings = {{"opt_name", "sgd"},
                         {"opt_base_learning_rate", 0.001},
                         {"opt_learning_rate_warmup_epochs", 4},
                         {"opt_learning_rate_warmup_factor", 1},
                         {"opt_learning_rate_decay_boundary_epochs", {32, 64}},
                         {"opt_learning_rate_decay_factor", {0.25, 0.125}}};
  for (const auto& [key, value] : settings.items()) {
    log.insert_before("init_stop", record(3, key, value));
  }
  log["seed"]["value"] = n;
  for (json& one : log.records) {
    one["time_ms"] = one["time_ms"].get<std::int64_t>() + 1000 * n;
    if (one["key"] == "eval_error") {
      one["value"] = one["value"].get<double>() - 0.0001 * (n % 100);
    }
  }
  return log;
}

/// The report of a single log with this text.
inline analysis::RunReport judged(const std::string& text) {
  const base::TemporaryDirectory folder;
  folder.write("result_0.txt", text);
  return std::move(analysis::make_report({folder.path().string()}).runs.at(0));
}
inline analysis::RunReport judged(const Log& log) { return judged(log.text()); }

inline std::vector<std::string> rules_of(const std::vector<analysis::Finding>& findings) {
  std::vector<std::string> rules;
  for (const analysis::Finding& finding : findings) rules.push_back(finding.rule);
  return rules;
}

/// The first finding of a rule; an empty one if there is none.
inline analysis::Finding found(const analysis::RunReport& run, const std::string& rule) {
  for (const analysis::Finding& finding : run.findings) {
    if (finding.rule == rule) return finding;
  }
  return {};
}

/// The rule of this name; null if the catalogue has none.
inline const mllog::CatalogueRule* audit_rule(const std::string& id) {
  const auto rules = analysis::audit_rules();
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const auto& rule) { return rule.entry.id == id; });
  return found == rules.end() ? nullptr : &found->entry;
}

}  // namespace own_log

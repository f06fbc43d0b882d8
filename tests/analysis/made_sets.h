// Folders of synthetic runs that break the rules for sets and for several submissions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/findings/check_logs.h"
#include "analysis/findings/make_report.h"
#include "analysis/own_log.h"
#include "runner/base/temporary_directory.h"

namespace made_sets {

/// Returns the findings of logs, or of a folder, that break a rule.
using Spoilt = std::function<std::vector<analysis::Finding>()>;

inline std::vector<analysis::Finding> findings_in(const base::TemporaryDirectory& folder) {
  const analysis::Report report = analysis::make_report({folder.path().string()});
  std::vector<analysis::Finding> all;
  const auto add = [&](const std::vector<analysis::Finding>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const auto& run : report.runs) add(run.findings);
  for (const auto& system : report.systems) add(system.findings);
  return all;
}

using Files = std::map<std::string, std::string>;  ///< path, content

inline Spoilt files(const Files& all) {
  return [=] {
    const base::TemporaryDirectory folder;
    for (const auto& [path, content] : all) folder.write(path, content);
    return findings_in(folder);
  };
}

/// Adds the logs of a submission with these `runs` of own_log::run_of(), and its description.
inline void add_submission(Files& all, const std::string& submission, const std::vector<int>& runs,
                           int added_s = 0) {
  int number = 0;
  for (const int run : runs) {
    own_log::Log log = own_log::run_of(run);
    log["run_stop"]["time_ms"] = log["run_stop"]["time_ms"].get<std::int64_t>() + 1000 * added_s;
    all[submission + "/results/box/cosmoflow/result_" + std::to_string(number++) + ".txt"] =
        log.text();
  }
  all[submission + "/systems/box.json"] = R"({"division": "closed", "number_of_nodes": 1,
      "accelerators_per_node": 8, "accelerator_model_name": "Fast"})";
}

inline Spoilt submissions(const std::map<std::string, std::vector<int>>& runs) {
  Files all;
  for (const auto& [submission, numbers] : runs) add_submission(all, submission, numbers);
  return files(all);
}

/// Two submissions that have nothing in common but their seeds.
inline Spoilt shared_seeds(int runs) {
  Files all;
  for (int i = 0; i < runs; ++i) {
    own_log::Log other = own_log::run_of(50 + i);
    other["seed"]["value"] = i;
    const std::string name = "/results/box/cosmoflow/result_" + std::to_string(i) + ".txt";
    all["hpc_v1.0/a" + name] = own_log::run_of(i).text();
    all["hpc_v1.0/b" + name] = other.text();
  }
  return files(all);
}

/// Five submissions to a round whose rules a clean log meets; the last one takes twice as long.
inline Spoilt slow_submission() {
  Files all;
  for (int i = 0; i < 5; ++i) {
    std::vector<int> runs;
    for (int run = 0; run < 10; ++run) runs.push_back(20 * i + run);
    add_submission(all, "hpc_v0.7/s" + std::to_string(i), runs, i == 4 ? 40 : 0);
  }
  return files(all);
}

/// The findings of check --runs for a group of 12 runs and a folder with `picked` of them; the
/// first `failing` runs of the group have not ended.
inline Spoilt picked(const std::vector<int>& picked, int failing = 0) {
  return [=] {
    const base::TemporaryDirectory folder;
    for (int i = 0; i < 12; ++i) {
      own_log::Log log = own_log::run_of(i);
      log["run_stop"]["time_ms"] = log["run_stop"]["time_ms"].get<std::int64_t>() + 1000 * i;
      if (i < failing) log.erase("run_stop");
      const std::string name = "/result_" + std::to_string(i) + ".txt";
      folder.write("all" + name, log.text());
      if (std::ranges::find(picked, i) != picked.end()) folder.write("sent" + name, log.text());
    }
    analysis::JudgingOptions options;
    options.wanted.round = "hpc-0.7";  // a clean log meets its rules
    options.group_runs = 12;
    std::vector<analysis::Finding> all;
    const mllog::rules::RuleBook book;
    for (const auto& set : check_logs({folder.path().string()}, book, options).sets) {
      all.insert(all.end(), set.audit.begin(), set.audit.end());
    }
    return all;
  };
}

}  // namespace made_sets

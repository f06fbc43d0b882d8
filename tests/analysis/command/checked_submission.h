// A submission for tests of the command `check`: five runs of oc20 whose logs keep the rules.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analysis/command/checking.h"
#include "analysis/submission/submission_tree.h"

namespace checking {

/// A log of oc20 at batch size 256 in HPC 3.0 that converged in `epoch` and keeps every rule.
inline std::string log_of(double epoch, const std::string& seed) {
  static const auto rules = made::rules_of("hpc", "3.0");
  made::Log log = made::good_log(rules, {"closed", "oc20", "", ""});
  const golden::MadeLog defaults;
  for (made::Line& line : log) {
    if (line.key == "global_batch_size") line.value = fmt::format("{}", defaults.batch_size);
    if (line.key == "number_of_nodes") line.value = std::to_string(defaults.nodes);
    if (line.key == "accelerators_per_node") line.value = "0";
    if (line.key == "submission_status") line.value = "\"onprem\"";
    if (line.key == "eval_error") {
      line.value = "0.03";
      line.metadata = fmt::format(R"({{"epoch_num": {}}})", epoch);
    }
    if (line.key != "run_stop") continue;
    line.metadata = R"({"status": "success"})";
    line.time_ms += 1000.0 * defaults.time_to_train_s;
  }
  log.insert(log.begin() + 1, {"seed", seed, R"({"file": "train.py", "lineno": 7})"});
  return made::text_of(log);
}

/// The log of the same run, launched `later_s` seconds later, with another time to train.
inline std::string timed(const std::string& log, double later_s, double time_to_train_s) {
  std::istringstream lines(log);
  std::string text;
  double start_ms = 0.0;
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json record = nlohmann::json::parse(line.substr(line.find('{')));
    double time_ms = record["time_ms"].get<double>();
    if (time_ms > 1e12) time_ms += 1000.0 * later_s;  // a date, not a time since the start
    if (record["key"] == "run_start") start_ms = time_ms;
    if (record["key"] == "run_stop") time_ms = start_ms + 1000.0 * time_to_train_s;
    record["time_ms"] = static_cast<std::int64_t>(time_ms);
    text += ":::MLLOG " + record.dump() + "\n";
  }
  return text;
}

class CheckedSubmission : public testing::Test {
 protected:
  CheckedSubmission() { write_runs(20.0); }
  /// Writes five runs that converge around `epoch`.
  void write_runs(double epoch) {
    for (int i = 0; i < 5; ++i) {
      write_run(i, log_of(epoch + (i % 3) - 1.0, std::to_string(100 + i)));
    }
  }
  void write_run(int number, const std::string& text) {
    tree_.write(fmt::format("{}/result_{}.txt", golden::SubmissionTree::kFolder, number), text);
  }
  analysis::command::CheckOptions options() const {
    analysis::command::CheckOptions options = reading({tree_.path().string()});
    options.round = "hpc-3.0";
    options.submission = true;
    return options;
  }
  nlohmann::json checked(analysis::command::CheckOptions options) const {
    options.json = "-";
    return nlohmann::json::parse(check(options).out);
  }
  analysis::command::CheckOptions folder_options() const {
    analysis::command::CheckOptions options =
        reading({tree_.path(golden::SubmissionTree::kFolder).string()});
    options.round = "hpc-3.0";
    options.rcp = true;
    return options;
  }

  golden::SubmissionTree tree_;
};

}  // namespace checking

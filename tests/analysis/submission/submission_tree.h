// A submission that keeps every rule, for tests that break one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "analysis/log_file.h"
#include "analysis/submission/package_check.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/mllog/record_reader.h"

namespace golden {

/// The contents of one log of the submission.
struct MadeLog {
  std::string benchmark = "oc20";
  double batch_size = 256;
  double epoch = 20;
  std::string seed = "1";  ///< as JSON text
  std::string status = "success";
  int nodes = 4;
  std::string division = "closed";
  int time_to_train_s = 60;
};

inline std::string record(const std::string& key, const std::string& value,
                          const std::string& metadata = "{}", std::int64_t time_ms = 1000) {
  return fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
      "\"key\": \"{}\", \"value\": {}, \"metadata\": {}}}\n",
      time_ms, key, value, metadata);
}

inline std::string log_text(const MadeLog& log) {
  return record("submission_benchmark", '"' + log.benchmark + '"') +
         record("submission_division", '"' + log.division + '"') +
         record("submission_status", "\"onprem\"") +
         record("number_of_nodes", std::to_string(log.nodes)) +
         record("accelerators_per_node", "0") +
         record("global_batch_size", fmt::format("{}", log.batch_size)) +
         record("seed", log.seed, R"({"file": "train.py", "lineno": 7})") +
         record("run_start", "null") +
         record("eval_error", "0.03", fmt::format("{{\"epoch_num\": {}}}", log.epoch)) +
         record("run_stop", "null", fmt::format("{{\"status\": \"{}\"}}", log.status),
                1000 + 1000 * log.time_to_train_s);
}

/// systems/demo.json with `field` set to the JSON text `value`, or without it if that is "".
inline std::string description(const std::string& field = "", const std::string& value = "") {
  constexpr const char* kText[] = {"system_name",
                                   "host_processor_model_name",
                                   "host_processor_core_count",
                                   "host_processor_vcpu_count",
                                   "host_processor_frequency",
                                   "host_processor_caches",
                                   "host_processor_interconnect",
                                   "host_memory_capacity",
                                   "host_storage_type",
                                   "host_storage_capacity",
                                   "host_networking",
                                   "host_networking_topology",
                                   "host_memory_configuration",
                                   "accelerator_model_name",
                                   "accelerator_host_interconnect",
                                   "accelerator_frequency",
                                   "accelerator_on-chip_memories",
                                   "accelerator_memory_configuration",
                                   "accelerator_memory_capacity",
                                   "accelerator_interconnect",
                                   "accelerator_interconnect_topology",
                                   "cooling",
                                   "hw_notes",
                                   "framework",
                                   "other_software_stack",
                                   "operating_system",
                                   "sw_notes"};
  std::vector<std::pair<std::string, std::string>> fields = {{"submitter", "\"us\""},
                                                             {"division", "\"closed\""},
                                                             {"status", "\"onprem\""},
                                                             {"number_of_nodes", "\"4\""},
                                                             {"host_processors_per_node", "\"2\""},
                                                             {"accelerators_per_node", "\"0\""}};
  for (const char* const name : kText) fields.emplace_back(name, "\"some\"");
  std::string text;
  for (auto& [name, held] : fields) {
    if (name == field) held = value;
    if (held.empty()) continue;
    text += fmt::format("{}  \"{}\": {}", text.empty() ? "{\n" : ",\n", name, held);
  }
  return text + "\n}\n";
}

/// Reads a log for the check of a submission; any log that can be read complies.
inline analysis::submission::PackageLog read_log(const std::filesystem::path& path) try {
  base::InputFile in = analysis::open_log(path);
  mllog::RecordReader reader(in);
  analysis::submission::PackageLogCollector collector;
  while (const auto item = reader.next()) {
    std::visit([&](const auto& one) { collector.add(one); }, *item);
  }
  analysis::submission::PackageLog log = collector.log();
  log.complies = true;
  return log;
} catch (const base::SystemError& e) {
  analysis::submission::PackageLog unreadable;
  unreadable.unreadable = e.what();
  return unreadable;
}

/// A temporary submission: HPC 3.0, closed, system demo, five runs of oc20 that converge as the
/// reference does at batch size 256.
class SubmissionTree {
 public:
  SubmissionTree() {
    write(kDescription, description());
    write("us/benchmarks/oc20/train.py", "");
    write_runs(kFolder, MadeLog{}, 5);
  }

  static inline const std::string kFolder = "us/results/demo/strong/oc20";
  static inline const std::string kWeakFolder = "us/results/demo/weak/oc20";
  static inline const std::string kDescription = "us/systems/demo.json";

  std::string write(const std::string& path, const std::string& text) {
    return folder_.write(path, text);
  }
  /// Writes result_0.txt and so on, with seeds from 100 and epochs around log.epoch: 19, 20, 21,
  /// 20, 20 ... for 20.
  void write_runs(const std::string& folder, MadeLog log, int count) {
    constexpr double kSpread[] = {-1.0, 0.0, 1.0, 0.0, 0.0};
    const double epoch = log.epoch;
    for (int i = 0; i < count; ++i) {
      log.seed = std::to_string(100 + i);
      log.epoch = epoch + kSpread[i % 5];
      write(fmt::format("{}/result_{}.txt", folder, i), log_text(log));
    }
  }
  /// Replaces all results by runs of log.benchmark, in the layout of Training and of HPC 0.7.
  void have_only(const MadeLog& log, int count) {
    remove("us/results");
    write_runs("us/results/demo/" + log.benchmark, log, count);
  }
  void write_run(int number, const MadeLog& log) {
    write(fmt::format("{}/result_{}.txt", kFolder, number), log_text(log));
  }
  void remove(const std::string& path) { std::filesystem::remove_all(folder_.path() / path); }
  std::filesystem::path path(const std::string& name = "") const { return folder_.path() / name; }

  /// Names of files that check() takes for breaking the rules of the round.
  void set_failing(std::vector<std::string> files) { failing_ = std::move(files); }

  analysis::submission::PackageReport check(
      const std::string& usage = "hpc", const std::string& round = "3.0",
      const analysis::submission::PackageOptions& options = {}) const {
    const analysis::submission::PackageTree tree =
        analysis::submission::read_package_tree(folder_.path(), {usage, round});
    return analysis::submission::check_package(
        tree, options, [&](const std::filesystem::path& file) {
          analysis::submission::PackageLog log = read_log(file);
          const std::string name = file.filename().string();
          const bool fails = std::find(failing_.begin(), failing_.end(), name) != failing_.end();
          log.complies = log.complies && !fails;
          return log;
        });
  }

 private:
  base::TemporaryDirectory folder_;
  std::vector<std::string> failing_;
};

/// The rules of the findings of `severity` or worse, in order, without notes by default.
inline std::vector<std::string> rules_of(
    const analysis::submission::PackageReport& report,
    analysis::submission::Severity severity = analysis::submission::Severity::kWarning) {
  std::vector<std::string> rules;
  for (const analysis::submission::PackageFinding& one : report.findings) {
    if (one.finding.severity >= severity) rules.push_back(one.finding.rule);
  }
  return rules;
}

/// The first finding of a rule; an empty one without any.
inline analysis::submission::PackageFinding finding_of(
    const analysis::submission::PackageReport& report, const std::string& rule) {
  for (const analysis::submission::PackageFinding& one : report.findings) {
    if (one.finding.rule == rule) return one;
  }
  return {};
}

}  // namespace golden

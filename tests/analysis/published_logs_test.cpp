// Every published log, compared with the figures of an independent program.
#include "published_logs/published_logs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/own_log.h"
#include "analysis/report/json/report.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The independent figures are rounded to six decimals (fractions to nine); rates are computed from
/// rounded seconds.
constexpr double kAbsolute = 0.6e-6;
constexpr double kFractionAbsolute = 0.6e-9;
constexpr double kRelative = 1e-8;

bool is_fraction(const std::string& key) {
  return key.ends_with("_fraction") || key.ends_with("_ratio") || key == "models_per_min";
}

/// Verdicts of other programs, which correspond to `check`, not to `analyze`.
bool is_foreign(const std::string& key) {
  return key == "mlcommons_checker" || key == "mlcommons_summarizer" || key == "fork_checker";
}

bool same(const std::string& key, const json& expected, const json& found) {
  const double absolute = is_fraction(key) ? kFractionAbsolute : kAbsolute;
  if (expected.is_number() && found.is_number()) {
    const auto a = expected.get<double>();
    const auto b = found.get<double>();
    return std::abs(a - b) <= std::max(absolute, kRelative * std::abs(a));
  }
  return expected == found;
}

/// Counts must be integers in both, booleans must be booleans.
bool same_kind(const json& expected, const json& found) {
  if (expected.is_number() && found.is_number()) {
    return expected.is_number_float() || !found.is_number_float() || expected == found;
  }
  return expected.type() == found.type();
}

/// Compares every figure of `expected`, which may have fewer than `found`.
void compare(const std::string& where, const json& expected, const json& found) {
  for (const auto& [key, value] : expected.items()) {
    if (is_foreign(key)) continue;
    ASSERT_TRUE(found.contains(key)) << where << ": " << key << " is missing";
    EXPECT_TRUE(same_kind(value, found[key])) << where << ": " << key << ": " << found[key];
    EXPECT_TRUE(same(key, value, found[key]))
        << where << ": " << key << ": expected " << value << ", found " << found[key];
  }
}

/// The independent program does not read the formats before MLLOG.
bool has_old_format(const std::string& name) { return name.starts_with("training_v0.6/"); }

class PublishedLogs : public testing::Test {
 protected:
  void SetUp() override {
    if (logs_.empty()) GTEST_SKIP() << published::kAbsent;
  }
  const fs::path logs_ = published::folder();
  const json& expected_ = published::expected();
};

TEST_F(PublishedLogs, GiveTheFiguresOfAnIndependentProgram) {
  const analysis::Report report = analysis::make_report({logs_.string()});
  const json files = analysis::report::report_json(report)["files"];
  std::size_t compared = 0;
  for (const auto& [name, expected] : expected_["files"].items()) {
    if (!fs::path(name).filename().string().starts_with("result_")) continue;
    ASSERT_TRUE(files.contains(name)) << name;
    if (has_old_format(name)) {
      EXPECT_EQ(files[name]["outcome"], "success") << name;
    } else {
      compare(name, expected, files[name]);
    }
    ++compared;
  }
  EXPECT_EQ(compared, files.size());
  EXPECT_GT(compared, 160u);
}

TEST_F(PublishedLogs, GiveTheSystemsScoresOfAnIndependentProgram) {
  const analysis::Report report = analysis::make_report({logs_.string()});
  const json systems = analysis::report::report_json(report)["systems"];
  for (const auto& [name, expected] : expected_["systems"].items()) {
    ASSERT_TRUE(systems.contains(name)) << name;
    if (!has_old_format(name)) compare(name, expected, systems[name]);
  }
  EXPECT_EQ(systems.size(), expected_["systems"].size());
}

TEST_F(PublishedLogs, AreReadByTheirOwnPathWhateverTheirName) {
  const std::string name =
      "training_v0.7/Intel/results/1-node-8s-cpx-2-mxnet/resnet/logs/32_workers_0.log";
  const analysis::Report report = analysis::make_report({(logs_ / name).string()});
  ASSERT_EQ(report.runs.size(), 1u);
  EXPECT_EQ(report.runs[0].name, "32_workers_0.log");
  compare(name, expected_["files"][name],
          analysis::report::report_json(report)["files"]["32_workers_0.log"]);
  EXPECT_TRUE(report.systems.empty()) << "logs/ holds no set of runs";
}

TEST_F(PublishedLogs, AreNamedAlikeFromAboveAndRoundByRound) {
  const analysis::Report above = analysis::make_report({logs_.string()});
  std::vector<std::string> rounds;
  for (const auto& entry : fs::directory_iterator(logs_)) {
    if (entry.is_directory()) rounds.push_back(entry.path().string());
  }
  ASSERT_GT(rounds.size(), 1u);
  const json all = analysis::report::report_json(above);
  EXPECT_EQ(json(analysis::report::report_json(analysis::make_report(rounds))), all);
  const json round =
      analysis::report::report_json(analysis::make_report({(logs_ / "hpc_v3.0").string()}));
  const json folder = analysis::report::report_json(
      analysis::make_report({(logs_ / "hpc_v3.0/HPE+LBNL/results/perlmutter_128x4").string()}));
  const std::string name = "strong/cosmoflow/result_1.txt";
  const std::string below = "HPE+LBNL/results/perlmutter_128x4/";
  EXPECT_EQ(folder["files"][name], all["files"]["hpc_v3.0/" + below + name]);
  EXPECT_EQ(round["files"][below + name], all["files"]["hpc_v3.0/" + below + name]);
  EXPECT_EQ(folder["systems"]["strong/cosmoflow"],
            all["systems"]["hpc_v3.0/" + below + "strong/cosmoflow"]);
}

/// A known oddity of one of the logs.
struct Known {
  const char* file;
  const char* rule;
  const char* text;  ///< part of the finding's text
};

constexpr Known kKnown[] = {
    {"hpc_v0.7/RIKEN/results/fugaku_512xA64FX_tensorflow_closed/cosmoflow/result_4.txt",
     "success-below-target", "best 0.1243"},
    {"hpc_v0.7/CSCS/results/daint_gpu_n256_tf2.2.0/cosmoflow/result_4.txt", "run-stop-missing", ""},
    {"training_v4.0/tinycorp/results/tinybox_green/resnet/result_0.txt", "run-stop-missing", ""},
    {"training_v4.0/tinycorp/results/tinybox_green/resnet/result_0.txt", "evaluation-more-frequent",
     "first 2 from 31 to 33"},
    {"hpc_v2.0/HelmholtzAI/results/horeka_gpu_n64_pytorch1.13/weak/oc20/pruned_results/"
     "result_6.txt",
     "run-stop-missing", ""},
    {"training_v2.1/ASUSTeK/results/ESCN4A-E11/dlrm/result_2.txt", "run-start-missing", ""},
    {"training_v2.1/ASUSTeK/results/ESCN4A-E11/dlrm/result_0.txt", "time-goes-back", "3 min 36 s"},
    {"training_v2.1/ASUSTeK/results/ESCN4A-E11/dlrm/result_0.txt", "interval-not-stopped",
     "eval_start without eval_stop: 1"},
    {"training_v1.1/Graphcore/results/ipu-pod16-TF1/resnet/result_0.txt", "run-stop-aborted", ""},
    {"training_v1.1/Graphcore/results/ipu-pod16-TF1/resnet/result_0.txt", "run-stop-value",
     "success"},
    {"hpc_v3.0/HPE+LBNL/results/perlmutter_128x4/strong/cosmoflow/result_1.txt",
     "evaluation-after-stop", "7 evaluations after run_stop"},
    {"hpc_v3.0/HPE+LBNL/results/perlmutter_128x4/strong/cosmoflow/result_1.txt",
     "training-after-stop", "epoch_start of 7 epochs"},
    {"training_v0.7/NVIDIA/results/dgxa100_ngc20.06_merlin_hugectr/dlrm/result_0.txt", "two-clocks",
     ""},
    {"training_v0.7/NVIDIA/results/dgxa100_ngc20.06_merlin_hugectr/dlrm/result_1.txt",
     "evaluation-at-stop", "the run converged by one of them"},
    {"training_v0.7/Google/results/tpu-v4-16-TF/dlrm/result_0.txt", "time-zero", "in 5 records"},
    {"training_v0.7/Intel/results/1-node-8s-cpx-1-tensorflow/resnet/result_1.txt",
     "init-times-impossible", "later than run_start"},
    {"hpc_v1.0/TACC/results/longhorn-tf/strong/cosmoflow/result_1.txt", "time-goes-back", ""},
    {"hpc_v1.0/TACC/results/longhorn-tf/strong/cosmoflow/result_1.txt", "repeated-keys", "times"},
    {"training_v2.1/Intel/results/1-node-SPR-pytorch/dlrm/result_0.txt", "repeated-keys",
     "init_start 2 times"},
    {"training_v2.1/Intel/results/1-node-SPR-pytorch/dlrm/result_0.txt", "placeholder",
     "reference_implementation"},
    {"hpc_v0.7/CSCS/results/daint_gpu_n256_tf2.2.0/cosmoflow/result_1.txt", "epochs-from-zero", ""},
    {"hpc_v0.7/CSCS/results/daint_gpu_n256_tf2.2.0/cosmoflow/result_1.txt", "staging-empty", ""},
    {"hpc_v3.0/HPE+LBNL/results/perlmutter_224x4/strong/openfold/result_1.txt",
     "evaluation-beside-training", ""},
    {"hpc_v3.0/HPE+LBNL/results/perlmutter_512x4/strong/deepcam/result_1.txt", "value-not-finite",
     "in 21 records"},
    {"training_v3.1/Fujitsu/results/primergy-cdi-A100x8-mxnet-ngc23.09/resnet/result_0.txt",
     "placeholder", "SUBMISSION_ORG_PLACEHOLDER"},
    {"hpc_v2.0/HelmholtzAI/results/horeka_gpu_n64_pytorch1.13/weak/oc20/result_0.txt",
     "throughput-unit-differs", ""},
};

TEST_F(PublishedLogs, HaveTheirKnownOdditiesTold) {
  for (const Known& known : kKnown) {
    const analysis::Report report = analysis::make_report({(logs_ / known.file).string()});
    const analysis::RunReport& run = report.runs.at(0);
    std::string told;
    bool is_found = false;
    for (const analysis::Finding& finding : run.findings) {
      told += finding.rule + ": " + finding.text + "\n";
      is_found |= finding.rule == known.rule && finding.text.find(known.text) != std::string::npos;
    }
    EXPECT_TRUE(is_found) << known.file << ": expected " << known.rule << " (" << known.text
                          << "), found\n"
                          << told;
  }
}

TEST_F(PublishedLogs, HaveOnlyFindingsOfTheCatalogueWithPlacesThatExist) {
  const analysis::Report report = analysis::make_report({logs_.string()});
  for (const analysis::RunReport& run : report.runs) {
    for (const analysis::Finding& finding : run.findings) {
      const mllog::CatalogueRule* rule = own_log::audit_rule(finding.rule);
      ASSERT_NE(rule, nullptr) << run.name << ": " << finding.text;
      EXPECT_EQ(finding.severity, rule->severity);
      EXPECT_LE(finding.line,
                run.facts.records + run.facts.other_lines + run.facts.malformed_records);
    }
    EXPECT_LE(run.findings.size(), 20u) << run.name;
  }
}

TEST_F(PublishedLogs, HaveTheTargetsOfTheTable) {
  for (const auto& [name, expected] : expected_["targets"].items()) {
    const mllog::Benchmark* row = mllog::find_benchmark(name);
    ASSERT_NE(row, nullptr) << name;
    const mllog::QualityTarget& target = row->evaluation().target;
    EXPECT_EQ(target.key, expected["metric"].get<std::string>());
    EXPECT_EQ(target.main().direction == mllog::Direction::kRises, expected["op"] == ">=");
    EXPECT_DOUBLE_EQ(target.main().value, expected["value"].get<double>());
    EXPECT_EQ(row->runs(), expected["runs"].get<int>());
  }
}

}  // namespace

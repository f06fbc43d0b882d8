// The RCP test and the package check on published submissions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "analysis/side_files.h"
#include "analysis/submission/package_check.h"
#include "analysis/submission/submission_tree.h"
#include "published_logs/published_logs.h"

namespace {

namespace fs = std::filesystem;
using namespace analysis::submission;

class PublishedPackages : public testing::Test {
 protected:
  void SetUp() override {
    if (logs_.empty()) GTEST_SKIP() << published::kAbsent;
  }
  const fs::path logs_ = published::folder();
  PackageReport check(const std::string& folder, RcpEra era = RcpEra::kHead) const {
    const std::size_t mark = folder.find("_v");
    const PackageRound round{folder.substr(0, mark), folder.substr(mark + 2)};
    PackageOptions options;
    options.rcp.era = era;
    return check_package(read_package_tree(logs_ / folder, round), options, golden::read_log);
  }
};

struct RcpVerdict {
  const char *folder, *set;  ///< round, and the set's path in it
  RcpOutcome outcome;
  bool passed;
  double mean;
};

/// Verdicts of MLCommons' RCP checker at 7bbf792; for dlrm, its missing number of runs was added.
constexpr RcpVerdict kRcpVerdicts[] = {
    {"hpc_v1.0", "LBNL/results/perlmutter_10x128x4_ngc21.09_mxnet/weak/cosmoflow",
     RcpOutcome::kFound, true, 33.875},
    {"hpc_v1.0", "TACC/results/longhorn-tf/strong/cosmoflow", RcpOutcome::kFound, true, 20.0},
    {"hpc_v2.0", "HelmholtzAI/results/horeka_gpu_n64_pytorch1.13/weak/oc20", RcpOutcome::kFound,
     false, 23.0},
    {"hpc_v3.0", "HPE+LBNL/results/perlmutter_128x4/strong/cosmoflow", RcpOutcome::kFound, true,
     23.0},
    {"hpc_v3.0", "HPE+LBNL/results/perlmutter_128x4/strong/oc20", RcpOutcome::kFound, true,
     98.0 / 3.0},
    {"hpc_v3.0", "HPE+LBNL/results/perlmutter_224x4/strong/openfold", RcpOutcome::kInterpolated,
     false, 109000.0},
    {"hpc_v3.0", "HPE+LBNL/results/perlmutter_512x4/strong/deepcam", RcpOutcome::kFound, true,
     24.0},
    {"training_v1.1", "Graphcore/results/ipu-pod16-TF1/resnet", RcpOutcome::kInterpolated, true,
     38.0},
    {"training_v2.1", "ASUSTeK/results/ESCN4A-E11/dlrm", RcpOutcome::kInterpolated, true, 1.9},
    {"training_v2.1", "Intel/results/1-node-SPR-pytorch/dlrm", RcpOutcome::kFound, true, 1.75},
    {"training_v3.1", "Fujitsu/results/primergy-cdi-A100x8-mxnet-ngc23.09/resnet",
     RcpOutcome::kInterpolated, true, 35.0},
    {"training_v3.1", "Intel/results/4-nodes-SPR-pytorch/dlrm_dcnv2", RcpOutcome::kInterpolated,
     true, 0.825},
    {"training_v3.1", "NVIDIA/results/eos_n16_ngc23.09_merlin_hugectr/dlrm_dcnv2",
     RcpOutcome::kFound, true, 0.924},
    {"training_v4.0", "tinycorp/results/tinybox_green/resnet", RcpOutcome::kSlowerOnSmallerBatch,
     true, 35.0}};

TEST_F(PublishedPackages, HaveTheRcpOutcomesOfTheOfficialChecker) {
  std::map<std::string, PackageReport> reports;
  for (const RcpVerdict& row : kRcpVerdicts) {
    if (!reports.contains(row.folder)) reports[row.folder] = check(row.folder);
    const PackageSet* found = nullptr;
    for (const PackageSet& set : reports[row.folder].sets) {
      if (set.name == row.set) found = &set;
    }
    ASSERT_NE(found, nullptr) << row.set;
    ASSERT_TRUE(found->rcp) << row.set;
    EXPECT_EQ(found->rcp->outcome, row.outcome) << row.set << ": " << found->rcp->message;
    EXPECT_EQ(found->rcp->passed, row.passed) << row.set << ": " << found->rcp->message;
    EXPECT_NEAR(found->rcp->submission_mean.value_or(0.0), row.mean, 1e-9 * row.mean) << row.set;
  }
}

TEST_F(PublishedPackages, HaveTheScoreFactorsThatWerePublished) {
  // Their factors were computed before the editions of 2024.
  int compared = 0;
  for (const char* const folder : {"hpc_v3.0", "training_v2.1", "training_v3.1"}) {
    for (const PackageSet& set : check(folder, RcpEra::k2022).sets) {
      const fs::path file = logs_ / folder / set.name / "scaling.json";
      if (!fs::exists(file)) continue;
      std::string problem;
      EXPECT_NEAR(
          set.rcp->normalization,
          analysis::read_scaling_factor(analysis::read_side_text(file, problem).value(), problem)
              .value(),
          1e-9)
          << set.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4);
}

TEST_F(PublishedPackages, AreReadWithoutMissingTheirSets) {
  const std::map<std::string, std::size_t> sets = {
      {"hpc_v0.7", 4},      {"hpc_v1.0", 2},      {"hpc_v2.0", 1},      {"hpc_v3.0", 4},
      {"training_v0.6", 1}, {"training_v0.7", 4}, {"training_v1.0", 1}, {"training_v1.1", 1},
      {"training_v2.1", 2}, {"training_v3.1", 3}, {"training_v4.0", 1}};
  for (const auto& [folder, count] : sets) {
    EXPECT_EQ(check(folder).sets.size(), count) << folder;
  }
}

TEST_F(PublishedPackages, OfTheFirstRoundsHaveNoRcpTest) {
  for (const char* const folder : {"hpc_v0.7", "training_v0.7"}) {
    for (const PackageSet& set : check(folder).sets) EXPECT_FALSE(set.rcp) << set.name;
  }
}

}  // namespace

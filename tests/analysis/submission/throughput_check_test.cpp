// The checks of throughput runs.
#include "analysis/submission/throughput_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/submission/submission_tree.h"

namespace {

using analysis::submission::PackageReport;
using golden::description;
using golden::finding_of;
using golden::MadeLog;
using golden::rules_of;
using golden::SubmissionTree;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ThroughputCheck, TellsOfRunsWithEqualSeeds) {
  SubmissionTree tree;
  MadeLog log;
  tree.write_runs(SubmissionTree::kWeakFolder, log, 5);
  log.seed = "\"104\"";
  log.epoch = 21;
  std::string text = golden::log_text(log);
  text.replace(text.find("\"lineno\": 7"), 11, "\"lineno\": 9");  // another line, the same run
  tree.write(SubmissionTree::kWeakFolder + "/result_5.txt", text);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("seed.identical-instances"));
  EXPECT_EQ(finding_of(report, "seed.identical-instances").path,
            SubmissionTree::kWeakFolder + "/result_5.txt");
}

/// Five instances of four nodes each, and `pruned` more, on a system of `nodes` nodes.
PackageReport on_nodes(int nodes, int pruned = 0) {
  SubmissionTree tree;
  tree.write_runs(SubmissionTree::kWeakFolder, MadeLog{}, 5);
  for (int i = 0; i < pruned; ++i) {
    tree.write(fmt::format("{}/pruned_results/result_{}.txt", SubmissionTree::kWeakFolder, 5 + i),
               "");
  }
  tree.remove("us/results/demo/strong");
  tree.write(SubmissionTree::kDescription,
             description("number_of_nodes", fmt::format("\"{}\"", nodes)));
  return tree.check();
}

TEST(ThroughputCheck, WantsASystemNoLargerThanAllInstances) {
  for (const int nodes : {4, 8, 20}) EXPECT_THAT(rules_of(on_nodes(nodes)), IsEmpty()) << nodes;
  EXPECT_THAT(rules_of(on_nodes(24)), Contains("throughput.scale"));
  EXPECT_THAT(finding_of(on_nodes(24), "throughput.scale").finding.text,
              HasSubstr("scale is 24, expected at most 20, that of 5 instances"));
  EXPECT_THAT(rules_of(on_nodes(24, 1)), Not(Contains("throughput.scale")))
      << "pruned ones ran too";
}

}  // namespace

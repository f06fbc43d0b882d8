// Descriptions of systems in a submission, each with one fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/submission/submission_tree.h"

namespace {

using namespace analysis::submission;
using golden::description;
using golden::finding_of;
using golden::MadeLog;
using golden::rules_of;
using golden::SubmissionTree;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SystemDescription, IsNeededForEachSystem) {
  SubmissionTree tree;
  tree.remove(SubmissionTree::kDescription);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("system.missing", "package.not-judged"));
  EXPECT_FALSE(report.passes());
}

TEST(SystemDescription, IsAJsonObject) {
  for (const char* const text : {"", "[]", "{", "null", "{\"a\": \"\xff\"", "\0"}) {
    SubmissionTree tree;
    tree.write(SubmissionTree::kDescription, text);
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("system.unreadable", "package.not-judged")) << text;
    EXPECT_FALSE(report.passes());
  }
}

TEST(SystemDescription, HasEveryRequiredField) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("accelerator_on-chip_memories", ""));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("system.field-missing"));
  EXPECT_THAT(finding_of(report, "system.field-missing").finding.text,
              HasSubstr("1 of 33 required fields are missing: accelerator_on-chip_memories"));
  EXPECT_FALSE(report.passes());
}

TEST(SystemDescription, MayLackFieldsBeforeRoundOne) {
  SubmissionTree tree;
  MadeLog log;
  log.benchmark = "cosmoflow";
  tree.have_only(log, 10);
  tree.write(SubmissionTree::kDescription, description("cooling", ""));
  const PackageReport report = tree.check("hpc", "0.7");
  EXPECT_THAT(rules_of(report), ElementsAre("system.field-missing"));
  EXPECT_TRUE(report.passes());
}

TEST(SystemDescription, SaysSomething) {
  for (const char* const value : {"\"\"", "\" \"", "null"}) {
    SubmissionTree tree;
    tree.write(SubmissionTree::kDescription, description("framework", value));
    EXPECT_THAT(rules_of(tree.check()), ElementsAre("system.field-empty")) << value;
  }
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("hw_notes", "\"\""));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(SystemDescription, CountsInWholeNumbers) {
  for (const char* const value : {"\"two\"", "2.5", "-1", "\"N/A\"", "[2]"}) {
    SubmissionTree tree;
    tree.write(SubmissionTree::kDescription, description("host_processors_per_node", value));
    EXPECT_THAT(rules_of(tree.check()), ElementsAre("system.field-type")) << value;
  }
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("host_processors_per_node", "2"));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(SystemDescription, HasTextElsewhereButForTheSoftwareStack) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("cooling", "[\"air\"]"));
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("system.field-type"));
  tree.write(SubmissionTree::kDescription, description("other_software_stack", "{\"mpi\": \"4\"}"));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(SystemDescription, NotesNumbersThatStopTheOfficialChecker) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("accelerators_per_node", "0"));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), IsEmpty());
  EXPECT_THAT(finding_of(report, "system.not-text").finding.text,
              HasSubstr("accelerators_per_node"));
}

TEST(SystemDescription, HasOneOfFourStatusesInTrainingSinceFour) {
  SubmissionTree tree;
  tree.remove("us/results");
  MadeLog log;
  log.benchmark = "resnet";
  log.batch_size = 1632;
  log.epoch = 36;
  tree.write_runs("us/results/demo/resnet", log, 5);
  EXPECT_THAT(rules_of(tree.check("training", "3.1")), IsEmpty());
  const PackageReport report = tree.check("training", "4.0");
  EXPECT_THAT(rules_of(report), ElementsAre("system.status"));
  EXPECT_FALSE(report.passes());
  tree.write(SubmissionTree::kDescription, description("status", "\"Available on-premise\""));
  EXPECT_THAT(rules_of(tree.check("training", "4.0")), IsEmpty());
}

TEST(SystemDescription, NotesDescriptionsWithoutResults) {
  SubmissionTree tree;
  tree.write("us/systems/other.json", description());
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), IsEmpty());
  EXPECT_EQ(finding_of(report, "system.unused").path, "us/systems/other.json");
}

TEST(SystemDescription, AgreesWithTheLogs) {
  const std::vector<std::array<std::string, 3>> differing = {
      {"division", "\"open\"", "system.log-division"},
      {"status", "\"Available cloud\"", "system.log-status"},
      {"number_of_nodes", "\"8\"", "system.log-nodes"},
      {"accelerators_per_node", "\"4\"", "system.log-accelerators"}};
  for (const auto& [field, value, rule] : differing) {
    SubmissionTree tree;
    tree.write(SubmissionTree::kDescription, description(field, value));
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre(rule));
    EXPECT_TRUE(report.passes()) << rule;
    EXPECT_THAT(finding_of(report, rule).finding.text, HasSubstr("in 5 of 5 logs")) << rule;
  }
}

TEST(SystemDescription, IsToldOfAFieldThatItHasTwiceWithBothPlaces) {
  SubmissionTree tree;
  const std::string text = description();
  tree.write(SubmissionTree::kDescription, "{\n  \"number_of_nodes\": \"2\",\n" + text.substr(2));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("package.repeated-member"));
  EXPECT_EQ(
      finding_of(report, "package.repeated-member").finding.text,
      "number_of_nodes: given twice, in line 2, column 3 and in line 6, column 3; the last one "
      "counts");
  tree.write(SubmissionTree::kDescription, text);
  tree.write(SubmissionTree::kFolder + "/scaling.json",
             R"({"scaling_factor": 1.1, "scaling_factor": 1.00424})");
  EXPECT_THAT(rules_of(tree.check()), Contains("package.repeated-member"));
}

TEST(SystemDescription, IsToldWhatAMisspeltFieldMeans) {
  SubmissionTree tree;
  const std::string text = description("submitter", "");
  tree.write(SubmissionTree::kDescription,
             "{\n  \"sumitter\": \"us\",\n  \"ml_libraries\": \"some\",\n" + text.substr(2));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("system.field-missing", "system.field-unknown"));
  EXPECT_THAT(finding_of(report, "system.field-unknown").finding.text,
              HasSubstr("sumitter: no field of a description; is submitter meant"));
  EXPECT_THAT(rules_of(report, Severity::kNote), Contains("system.field-unknown").Times(2));
}

TEST(SystemDescription, NamesTheSubmitterOfTheFolderAndOfTheLogs) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, description("submitter", "\"Example Lab Corp.\""));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("system.folder-submitter"));
  EXPECT_THAT(
      finding_of(report, "system.folder-submitter").finding.text,
      HasSubstr("the submitter is Example Lab Corp., but the submission's folder is named us"));
  fs::rename(tree.path("us"), tree.path("example-lab-corp"));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  for (int i = 0; i < 5; ++i) {
    tree.write(fmt::format("example-lab-corp/results/demo/strong/oc20/result_{}.txt", i),
               golden::record("submission_org", "\"Example Lab\"") +
                   golden::log_text(MadeLog{.epoch = 19.0 + i % 3, .seed = fmt::format("{}", i)}));
  }
  EXPECT_THAT(rules_of(tree.check()), Contains("system.log-submitter"));
  tree.write("example-lab-corp/systems/demo.json",
             description("submitter", "\"Example Lab / Example Lab Corp.\""));
  EXPECT_THAT(rules_of(tree.check()), testing::Not(Contains("system.log-submitter")));
}

TEST(SystemDescription, BeginsWithoutAByteOrderMark) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kDescription, "\xef\xbb\xbf" + description());
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), Contains("system.unreadable"));
  EXPECT_THAT(finding_of(report, "system.unreadable").finding.text, HasSubstr("byte order mark"));
}

TEST(SystemDescription, MayBeLargerThanAThroughputRun) {
  SubmissionTree tree;
  tree.remove(SubmissionTree::kFolder);
  tree.write_runs(SubmissionTree::kWeakFolder, MadeLog{}, 5);
  tree.write(SubmissionTree::kDescription, description("number_of_nodes", "\"20\""));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  tree.write(SubmissionTree::kDescription, description("number_of_nodes", "\"2\""));
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("system.log-nodes"));
}

}  // namespace

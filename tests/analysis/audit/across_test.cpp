// Audit of several sets of runs: copies, shared seeds, results far from others'.
#include "analysis/audit/across.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "analysis/findings/make_report.h"
#include "analysis/own_log.h"

namespace {

using nlohmann::json;
using own_log::Log;
using own_log::run_of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kDescription[] = R"({"division": "closed", "number_of_nodes": 1,
    "accelerators_per_node": "8", "accelerator_model_name": "NVIDIA Fast-100",
    "submitter": "Example Lab", "host_processors_per_node": "2"})";

/// Folders of logs below results/.
class Tree {
 public:
  void describe(const std::string& submission, const std::string& system,
                const std::string& description = kDescription) {
    folder_.write(submission + "/systems/" + system + ".json", description);
  }
  void write(const std::string& submission, const std::string& system, int number, const Log& log,
             const std::string& prefix = "") {
    folder_.write(
        submission + "/results/" + system + "/cosmoflow/result_" + std::to_string(number) + ".txt",
        log.text(prefix));
  }
  /// The findings about a folder, each as "rule: text".
  std::vector<std::string> told(const std::string& folder) const {
    const auto report = analysis::make_report({folder_.path().string()});
    std::vector<std::string> texts;
    for (const auto& system : report.systems) {
      if (system.name != folder) continue;
      for (const auto& finding : system.findings)
        texts.push_back(finding.rule + ": " + finding.text);
    }
    return texts;
  }

 private:
  base::TemporaryDirectory folder_;
};

TEST(Copies, AreToldOfTheLaterFolderWithBothPlaces) {
  Tree tree;
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v1.0/a", "box", 2, run_of(2));
  tree.write("hpc_v1.0/b", "case", 1, run_of(3));
  tree.write("hpc_v1.0/b", "case", 2, run_of(1), "0: ");
  EXPECT_THAT(tree.told("hpc_v1.0/b/results/case/cosmoflow"),
              Contains("run-repeated: 1 of 2 logs are of the same runs as logs in "
                       "hpc_v1.0/a/results/box/cosmoflow: first result_2.txt and result_1.txt"));
  EXPECT_THAT(tree.told("hpc_v1.0/a/results/box/cosmoflow"),
              Not(Contains(HasSubstr("run-repeated"))));
}

TEST(Copies, AreKnownByTheirTimesWhateverTheirHeadersSay) {
  Tree tree;
  Log copy = run_of(1);
  copy["submission_org"]["value"] = "Somebody Else";
  copy["submission_platform"]["value"] = "another";
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v1.0/b", "box", 1, copy);
  EXPECT_THAT(tree.told("hpc_v1.0/b/results/box/cosmoflow"), Contains(HasSubstr("run-repeated")));
}

TEST(Copies, AreNoRunsThatDifferInOneResultOrTime) {
  for (const char* const member : {"value", "time_ms"}) {
    Tree tree;
    Log other = run_of(1);
    if (member == std::string("value")) {
      other["eval_error"]["value"] = 0.31;
    } else {
      other["eval_error"]["time_ms"] = other["eval_error"]["time_ms"].get<std::int64_t>() + 1;
    }
    tree.write("hpc_v1.0/a", "box", 1, run_of(1));
    tree.write("hpc_v1.0/b", "box", 1, other);
    EXPECT_THAT(tree.told("hpc_v1.0/b/results/box/cosmoflow"),
                Not(Contains(HasSubstr("run-repeated"))))
        << member;
  }
}

TEST(Copies, InOneFolderAreTold) {
  Tree tree;
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v1.0/a", "box", 2, run_of(1));
  EXPECT_THAT(tree.told("hpc_v1.0/a/results/box/cosmoflow"),
              Contains("run-repeated: 1 of 2 logs are of the same runs as others here: first "
                       "result_2.txt and result_1.txt"));
}

TEST(Resubmissions, OfAnEqualSystemAreNoted) {
  Tree tree;
  for (const char* const round : {"hpc_v1.0/a", "hpc_v2.0/a"}) {
    tree.describe(round, "box");
    tree.write(round, "box", 1, run_of(1));
  }
  EXPECT_THAT(tree.told("hpc_v2.0/a/results/box/cosmoflow"),
              Contains("run-resubmitted: 1 of 1 logs are of the same runs as logs in "
                       "hpc_v1.0/a/results/box/cosmoflow: first result_1.txt and result_1.txt, of "
                       "hpc-1.0; the descriptions of the system are equal"));
  EXPECT_THAT(tree.told("hpc_v1.0/a/results/box/cosmoflow"), Not(Contains(HasSubstr("resubmi"))));
}

TEST(Resubmissions, OfAnotherSystemAreWarnedOf) {
  Tree tree;
  std::string other = kDescription;
  other.replace(other.find("Fast-100"), 8, "Fast-200");
  tree.describe("hpc_v1.0/a", "box");
  tree.describe("hpc_v2.0/a", "box", other);
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v2.0/a", "box", 1, run_of(1));
  EXPECT_THAT(
      tree.told("hpc_v2.0/a/results/box/cosmoflow"),
      Contains(AllOf(HasSubstr("resubmission-differs: "),
                     HasSubstr("descriptions of the system differ in accelerator_model_name"))));
}

TEST(Resubmissions, WithoutADescriptionAreWarnedOf) {
  Tree tree;
  tree.describe("hpc_v1.0/a", "box");
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v2.0/a", "box", 1, run_of(1));
  EXPECT_THAT(tree.told("hpc_v2.0/a/results/box/cosmoflow"),
              Contains(AllOf(HasSubstr("resubmission-differs: "), HasSubstr("cannot be compared: "),
                             HasSubstr("box.json: cannot open: No such file"))));
}

TEST(Curves, OfDifferentRunsThatAreEqualAreTold) {
  Tree tree;
  Log later = run_of(1);
  for (json& one : later.records) {
    one["time_ms"] = one["time_ms"].get<std::int64_t>() + 5000000;
  }
  tree.write("hpc_v1.0/a", "box", 1, run_of(1));
  tree.write("hpc_v1.0/a", "box", 2, later);
  EXPECT_THAT(tree.told("hpc_v1.0/a/results/box/cosmoflow"),
              AllOf(Contains("curve-repeated: 1 of 2 logs have the same results at every "
                             "evaluation as others here: first result_2.txt and result_1.txt"),
                    Not(Contains(HasSubstr("run-repeated")))));
}

/// The findings about seeds in a submission with these `seeds`; another one has the seeds 0, 1, 2.
std::vector<std::string> told_of_seeds(const std::vector<int>& seeds,
                                       const std::string& other_file = "own.cpp") {
  Tree tree;
  for (const int i : {0, 1, 2}) tree.write("hpc_v1.0/a", "box", i, run_of(i));
  int number = 0;
  for (const int seed : seeds) {
    Log log = run_of(50 + number);
    log["seed"]["value"] = seed;
    log["seed"]["metadata"]["file"] = other_file;
    tree.write("hpc_v1.0/b", "box", number++, log);
  }
  std::vector<std::string> told = tree.told("hpc_v1.0/b/results/box/cosmoflow");
  std::erase_if(told, [](const std::string& text) { return !text.starts_with("seed"); });
  return told;
}

TEST(Seeds, OfTwoRunsThatAnotherSubmissionHasAreWarnedOf) {
  EXPECT_THAT(told_of_seeds({1, 2, 70}),
              testing::ElementsAre("seeds-of-others: 2 of 3 logs share seeds with logs in "
                                   "hpc_v1.0/a/results/box/cosmoflow: first result_0.txt and "
                                   "result_1.txt, 1 at own.cpp:1"));
}

TEST(Seeds, OfOneRunThatAnotherSubmissionHasAreNoted) {
  EXPECT_THAT(told_of_seeds({1, 71, 70}),
              testing::ElementsAre(HasSubstr("seed-of-others: 1 of 3 logs share seeds")));
}

TEST(Seeds, OfOtherCodeAreNotCompared) {
  EXPECT_THAT(told_of_seeds({1, 2, 0}, "other.cpp"), IsEmpty());
}

/// The findings about the result of the first of several submissions with ten runs each. `epoch_s`
/// has the seconds that are added to the 33 s of each run of a submission.
std::vector<std::string> told_of_results(const std::vector<double>& epoch_s,
                                         const std::string& description = kDescription) {
  Tree tree;
  int seed = 0;
  for (std::size_t i = 0; i < epoch_s.size(); ++i) {
    const std::string submission = "hpc_v0.7/s" + std::to_string(i);  // the logs meet its rules
    tree.describe(submission, "box", i == 0 ? description : kDescription);
    for (int run = 0; run < 10; ++run) {
      Log log = run_of(++seed);
      log["run_stop"]["time_ms"] = log["run_stop"]["time_ms"].get<std::int64_t>() +
                                   static_cast<std::int64_t>(std::lround(1000.0 * epoch_s[i]));
      tree.write(submission, "box", run, log);
    }
  }
  std::vector<std::string> told = tree.told("hpc_v0.7/s0/results/box/cosmoflow");
  std::erase_if(told, [](const std::string& text) { return !text.starts_with("result-outlier"); });
  return told;
}

TEST(Results, FarFromThoseOfEqualMachinesAreWarnedOf) {
  // 33 s each and the added seconds: 66 s compared with 34.
  EXPECT_THAT(told_of_results({33, 1, 1, 1, 1}),
              testing::ElementsAre("result-outlier: 1.1 min, 94 % slower than 0.5667 min, the "
                                   "median of 4 other submissions with 8 NVIDIA Fast-100; up to "
                                   "11 % is usual among these"));
  EXPECT_THAT(told_of_results({0, 33, 33, 33, 33}),
              testing::ElementsAre(AllOf(HasSubstr("50 % faster"), HasSubstr("up to 10 %"))));
}

TEST(Results, NearTheOthersAreNot) {
  EXPECT_THAT(told_of_results({3, 1, 1, 1, 1}), IsEmpty());
  EXPECT_THAT(told_of_results({33, 1, 12, 23, 40}), IsEmpty());  // they spread as far
}

TEST(Results, NeedFourOthersOnTheSameMachine) {
  EXPECT_THAT(told_of_results({33, 1, 1, 1}), IsEmpty());
  std::string larger = kDescription;
  larger.replace(larger.find("\"8\""), 3, "\"9\"");
  EXPECT_THAT(told_of_results({33, 1, 1, 1, 1}, larger), IsEmpty());
  std::string respelled = kDescription;
  respelled.replace(respelled.find("NVIDIA Fast-100"), 15, "Fast 100");
  EXPECT_THAT(told_of_results({33, 1, 1, 1, 1}, respelled), testing::SizeIs(1));
}

}  // namespace

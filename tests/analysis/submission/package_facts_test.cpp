// The requirements of the rounds on submissions, and the rules of the package check.
#include "analysis/submission/package_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "analysis/submission/package_check.h"
#include "analysis/submission/package_rules.h"
#include "analysis/systems.h"
#include "runner/base/error.h"

namespace {

using namespace analysis::submission;
using testing::AllOf;
using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAre;

TEST(PackageRules, GiveFindingsTheirSeverity) {
  const mllog::Finding finding = package_finding("seed.several", "two of them", 3, 4);
  EXPECT_EQ(finding.severity, mllog::Finding::Severity::kNote);
  EXPECT_EQ(finding.rule, "seed.several");
  EXPECT_EQ(finding.line, 3);
  EXPECT_EQ(finding.column, 4);
  EXPECT_THROW(package_finding("package.unreadable", "it depends"), base::Error);
  EXPECT_THROW(package_finding("package.no-such-rule", ""), base::Error);
}

TEST(PackageRules, ExplainEachFindingOnce) {
  std::set<std::string_view> ids;
  for (const mllog::CatalogueRule& rule : package_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(rule.meaning.empty()) << rule.id;
    EXPECT_FALSE(rule.source.empty()) << rule.id;
  }
  // Every rule that the sources name is in the catalogue.
  for (const auto& entry : std::filesystem::directory_iterator("analysis/submission")) {
    if (entry.path().extension() != ".cpp" || entry.path().stem() == "package_rules") continue;
    const std::filesystem::path& file = entry.path();
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(text.empty()) << file;
    for (std::size_t at = text.find('"'); at != std::string::npos;) {
      const std::size_t end = text.find('"', at + 1);
      const std::string word = text.substr(at + 1, end - at - 1);
      const std::size_t dot = word.find('.');
      static const std::set<std::string> families = {
          "package", "params", "seed", "system", "scaling", "rcp", "power", "repo", "throughput"};
      const bool is_rule = dot != std::string::npos && families.contains(word.substr(0, dot)) &&
                           !word.ends_with(".json") && !word.ends_with(".h") &&
                           word.find(' ') == std::string::npos;
      if (is_rule) {
        EXPECT_TRUE(ids.contains(word)) << file << ": " << word;
      }
      at = text.find('"', end + 1);
    }
  }
}

TEST(PackageFacts, KnowEveryRoundAndBenchmark) {
  EXPECT_THAT(benchmarks_of_round("hpc", "3.0.0"),
              UnorderedElementsAre("cosmoflow", "deepcam", "oc20", "openfold"));
  EXPECT_THAT(benchmarks_of_round("training", "4.0"),
              AllOf(Contains("resnet"), Contains("llama2_70b_lora"), Not(Contains("rnnt"))));
  EXPECT_TRUE(benchmarks_of_round("training", "9.0").empty());
  EXPECT_TRUE(benchmarks_of_round("inference", "4.0").empty());
  EXPECT_EQ(runs_required("training", "4.0", "unet3d"), 40);
  EXPECT_EQ(runs_required("hpc", "3.0", "bert"), std::nullopt);
  EXPECT_EQ(package_facts().system_description.required.size(), 33u);
}

TEST(PackageFacts, CompareRoundsByNumber) {
  EXPECT_TRUE(at_least_round("3.0", "3.0"));
  EXPECT_TRUE(at_least_round("10.0", "9.1"));
  EXPECT_TRUE(at_least_round("v4.1", "4.0"));
  EXPECT_FALSE(at_least_round("0.7", "1.0"));
}

TEST(PackageFacts, KnowHowManyRunsMayFail) {
  EXPECT_EQ(analysis::dropped_each_end("unet3d"), 4u);
  EXPECT_EQ(analysis::dropped_each_end("resnet"), 1u);
  EXPECT_EQ(analysis::dropped_each_end("oc20"), 1u);
}

}  // namespace

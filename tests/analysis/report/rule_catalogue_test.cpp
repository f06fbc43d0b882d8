// The catalogue of all rules, and what is said of one of them.
// Hides nothing.
#include "analysis/report/rule_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/audit_rules.h"
#include "analysis/submission/package_check.h"
#include "runner/base/error.h"

namespace {

using analysis::report::rule_catalogue;
using mllog::rules::RuleBook;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string explained(const std::string& id) {
  return analysis::report::explain_rule(id, RuleBook());
}

TEST(RuleCatalogue, HoldsEachRuleOfEachPartOnce) {
  std::set<std::string_view> ids;
  for (const auto& rule : rule_catalogue()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_NE(rule.meaning, "") << rule.id;
    EXPECT_NE(rule.source, "") << rule.id;
  }
  EXPECT_GT(ids.size(),
            analysis::audit_rules().size() + analysis::submission::package_rules().size());
  for (const char* const id :
       {"verdict", "log/record", "log/records", "log/unreadable", "log/format"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
}

TEST(RuleCatalogue, ExplainsARuleOfTheAudit) {
  const std::string text = explained("success-below-target");
  EXPECT_THAT(text, HasSubstr("success-below-target (error)"));
  EXPECT_THAT(text, HasSubstr("Source: MLPerf training policies, Quality measure"));
  EXPECT_THAT(text, HasSubstr("What to do:"));
}

TEST(RuleCatalogue, ExplainsARuleOfSubmissions) {
  EXPECT_THAT(explained("rcp.failed"),
              AllOf(HasSubstr("p > 0.05"), HasSubstr("Source: mlcommons/logging rcp_checker")));
}

TEST(RuleCatalogue, ExplainsTheRulesOfPower) {
  EXPECT_THAT(explained("power.log"), HasSubstr("Source: mlcommons/logging result_summarizer"));
  EXPECT_THAT(explained("power.sampling"), HasSubstr("at least once a second"));
  EXPECT_THAT(explained("power.samples"),
              AllOf(HasSubstr("at least 60 times"),
                    HasSubstr("Source: mlcommons/training_policies power_measurement")));
}

TEST(RuleCatalogue, ExplainsARuleOfAVerdictForEachRound) {
  const std::string text = explained("closed_cosmoflow/global_batch_size/count");
  EXPECT_THAT(text, AllOf(HasSubstr("closed_cosmoflow/global_batch_size (verdict)"),
                          HasSubstr("exactly one record"), HasSubstr("hpc-3.0")));
  EXPECT_EQ(explained("closed_cosmoflow/global_batch_size"), text) << "the aspect does not matter";
  EXPECT_THAT(explained("log/record"), HasSubstr(":::MLLOG"));
}

TEST(RuleCatalogue, ListsAll) {
  const std::string text = explained("all");
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            rule_catalogue().size() + 1);
}

TEST(RuleCatalogue, NamesTheNearestRuleForATypo) {
  const auto refusal = [](const std::string& id) -> std::string {
    try {
      return explained(id);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refusal("sucess-below-target"), HasSubstr("did you mean success-below-target?"));
  EXPECT_THAT(refusal("common/no_such_key/count"), HasSubstr("no such rule"));
  EXPECT_THAT(refusal("nothing like any of them"), Not(HasSubstr("did you mean")));
}

}  // namespace

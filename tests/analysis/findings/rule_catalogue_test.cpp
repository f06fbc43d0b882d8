// The catalogue of all rules, and the explanation of one.
#include "analysis/findings/rule_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "analysis/audit_rules.h"
#include "analysis/submission/package_rules.h"
#include "runner/base/error.h"
#include "runner/mllog/rules/plan_rules.h"

namespace {

namespace fs = std::filesystem;

using analysis::rule_catalogue;
using mllog::rules::RuleBook;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string explained(const std::string& id) { return analysis::explain_rule(id, RuleBook()); }

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

/// The string literals of `text` that look like names of rules in one of `families`: "power.log".
std::set<std::string> rule_names_of(const std::string& text,
                                    const std::set<std::string>& families) {
  static const std::regex name("\"([a-z]+)[./][a-z]+(-[a-z]+)*\"");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    const std::string literal = at->str().substr(1, at->str().size() - 2);
    if (families.contains(at->str(1)) && !literal.ends_with(".json")) names.insert(literal);
  }
  return names;
}

TEST(RuleCatalogue, HoldsEveryNameThatTheSourceGivesToAFinding) {
  std::set<std::string> ids, families;
  for (const auto& rule : rule_catalogue()) {
    ids.emplace(rule.id);
    const std::size_t end = rule.id.find_first_of("./");
    if (end != std::string_view::npos) families.emplace(rule.id.substr(0, end));
  }
  std::size_t found = 0;
  for (const char* const room : {"analysis", "runner/mllog"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(room)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      for (const std::string& name : rule_names_of(text, families)) {
        EXPECT_TRUE(ids.contains(name)) << name << " in " << entry.path();
        ++found;
      }
    }
  }
  EXPECT_GT(found, analysis::submission::package_rules().size())
      << "in the list and where it is told";
  EXPECT_EQ(rule_names_of("tell(\"power.typo\"); open(\"a.txt\");", families),
            std::set<std::string>{"power.typo"});
}

TEST(RuleCatalogue, ExplainsWhatBreaksARuleBeforeARun) {
  for (const auto& [name, rule] : mllog::rules::plan_rules()) {
    EXPECT_THAT(explained(std::string(rule.id)), HasSubstr("What to do:")) << rule.id;
  }
  EXPECT_THAT(explained("closed-setting"),
              AllOf(HasSubstr("closed-setting (error)"), HasSubstr("the open division")));
  EXPECT_THAT(explained("no-submitter"), HasSubstr("no-submitter (warning)"));
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

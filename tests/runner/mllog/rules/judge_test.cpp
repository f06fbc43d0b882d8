// The judge with made-up rules: counting, order, chains, and which findings remain.
#include "runner/mllog/rules/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/made_log.h"

namespace {

using made::judged;
using made::Line;
using made::Log;
using made::Ruleset;
using made::small_rules;
using made::Warnings;
using mllog::Finding;
using mllog::rules::Judgement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> rules_of(const Judgement& judgement) {
  std::vector<std::string> names;
  for (const auto& one : judgement.findings) names.push_back(one.finding.rule);
  return names;
}

TEST(Counting, ForgivesRepetitionsOfOneValueWithAWarning) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one"})");
  const Log log = {{"a", "1"}, {"a", "1.0"}, {"a", "true"}};
  const Judgement judgement = judged(rules, log);
  EXPECT_TRUE(judgement.passes);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].finding.severity, Finding::Severity::kWarning);
  EXPECT_THAT(judgement.findings[0].finding.text, HasSubstr("found 3, all with the value 1"));
}

TEST(Counting, TakesThatWarningForAnErrorWhereAsked) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one"})");
  const Judgement judgement = judged(rules, Log{{"a"}, {"a"}}, Warnings::kAreErrors);
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("a"));
}

TEST(Counting, PointsAtTheFirstDifferentValue) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one"})");
  const Judgement judgement = judged(rules, Log{{"a", "1"}, {"a", "1"}, {"a", "2"}, {"a", "3"}});
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].finding.line, 3);
  EXPECT_EQ(judgement.findings[0].finding.column, 1);
  EXPECT_EQ(judgement.findings[0].key, "a");
  EXPECT_THAT(judgement.findings[0].finding.text,
              HasSubstr("found 4 with different values: 1, 2, 3"));
}

TEST(Counting, KnowsAtLeastSoMany) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "at_least", "times": 3})");
  EXPECT_FALSE(judged(rules, Log{{"a"}, {"a"}}).passes);
  EXPECT_TRUE(judged(rules, Log{{"a"}, {"a"}, {"a"}}).passes);
}

TEST(Counting, LetsOptionalAndUnknownKeysBe) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "optional", "value": {"above": 0}})");
  EXPECT_TRUE(judged(rules, Log{{"unknown"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "0"}}).passes);
}

TEST(Counting, BlamesTheFirstOfAlternativesOnce) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "at_least_one_of", "of": ["b", "a"]},
                     {"key": "b", "occurs": "at_least_one_of", "of": ["b", "a"]})");
  const Judgement none = judged(rules, Log{{"c"}});
  EXPECT_THAT(none.failing_keys, ElementsAre("b"));
  EXPECT_EQ(none.findings.size(), 1u);
  EXPECT_TRUE(judged(rules, Log{{"a"}}).passes);
}

TEST(Checks, KeepEveryViolationWithItsPlace) {
  const Ruleset rules = small_rules(R"({"key": "a", "value": {"above": 0}})");
  const Judgement judgement =
      judged(rules, "x\n" + text_of(Line{"a", "-1"}) + text_of(Line{"a", "2"}) + "[0] " +
                        text_of(Line{"a", "\"text\""}));
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].finding.line, 2);
  EXPECT_EQ(judgement.findings[0].finding.text, "a: must be above 0, got -1");
  EXPECT_EQ(judgement.findings[0].finding.rule, "common/a/value");
  EXPECT_EQ(judgement.findings[1].finding.line, 4);
  EXPECT_EQ(judgement.findings[1].finding.column, 5);
  EXPECT_EQ(judgement.findings[1].finding.text,
            "a: cannot be checked: must be above 0, got \"text\"");
}

TEST(Checks, KeepAThousandAndCountTheRest) {
  const Ruleset rules = small_rules(R"({"key": "a", "value": {"above": 0}})");
  const Judgement judgement = judged(rules, Log(1003, Line{"a", "0"}));
  ASSERT_EQ(judgement.findings.size(), 1001u);
  EXPECT_THAT(judgement.findings.back().finding.text, HasSubstr("3 more"));
  EXPECT_THAT(judgement.failing_keys, ElementsAre("a"));
}

TEST(Checks, OfTheFirstRecordLookAtNoOther) {
  const Ruleset rules = small_rules(R"({"key": "a", "first_checks": [{"value": {"equals": 1}}]})");
  EXPECT_TRUE(judged(rules, Log{{"a", "1"}, {"a", "2"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "2"}, {"a", "1"}}).passes);
}

TEST(Checks, OfASubmissionKeyLookAtItsFirstRecord) {
  const Ruleset rules = small_rules(R"({"key": "submission_a", "value": {"equals": 1}})");
  EXPECT_TRUE(judged(rules, Log{{"submission_a", "1"}, {"submission_a", "2"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"submission_a", "2"}, {"submission_a", "1"}}).passes);
}

TEST(Checks, OfOneGoodValueAskForOneOnly) {
  const Ruleset rules = small_rules(R"({"key": "a", "once": {"at_least": 0.8}})");
  EXPECT_TRUE(judged(rules, Log{{"a", "0.1"}, {"a", "0.8"}, {"a", "0.2"}}).passes);
  EXPECT_TRUE(judged(rules, Log{{"b"}}).passes) << "none is no fault of this rule";
  const Judgement judgement = judged(rules, Log{{"a", "0.1"}, {"a", "0.2"}});
  EXPECT_THAT(judgement.failing_keys, ElementsAre("a"));
  EXPECT_EQ(judgement.findings[0].finding.text,
            "a: at least one must be at least 0.8, but none of 2 is, the last is 0.2");
}

TEST(Checks, OfOneGoodValueFailWhereOneCannotBeCompared) {
  const Ruleset rules = small_rules(R"({"key": "a", "once": {"at_least": 0.8}})");
  const Judgement judgement = judged(rules, Log{{"a", "0.9"}, {"a", "\"0.9\""}});
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(judgement.findings[0].finding.text, HasSubstr("cannot be checked"));
}

TEST(Checks, OfMetadataCanBeForSomeRecords) {
  const Ruleset rules = small_rules(
      R"({"key": "a", "checks": [{"has": ["n", "m"]},
                                 {"member": "n", "is": {"above": 0}, "where_has": "n"}]})");
  EXPECT_TRUE(judged(rules, Log{{"a", "0", R"({"n": 1})"}, {"a", "0", R"({"m": 0})"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "0", R"({"n": 0})"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "0", "{}"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "0", "null"}}).passes);
}

TEST(Names, MustAllBeThereOnceAndNoOthers) {
  const Ruleset rules =
      small_rules(R"({"key": "a", "exactly_these": {"member": "t", "names": ["x{1,2}", "y"]}})");
  const Line x1{"a", "0", R"({"t": "x1"})"}, x2{"a", "0", R"({"t": "x2"})"},
      y{"a", "0", R"({"t": "y"})"}, other{"a", "0", R"({"t": "z"})"};
  EXPECT_TRUE(judged(rules, Log{y, x2, x1}).passes);
  const Judgement few = judged(rules, Log{y, x1});
  EXPECT_FALSE(few.passes);
  EXPECT_THAT(few.failing_keys, IsEmpty()) << "mlcommons' message names none";
  EXPECT_THAT(few.findings[0].finding.text, HasSubstr("x2 is named 0 times"));
  EXPECT_THAT(judged(rules, Log{y, x1, x1, x2}).findings[0].finding.text,
              HasSubstr("x1 is named 2 times"));
  EXPECT_THAT(judged(rules, Log{y, x1, x2, other}).findings[0].finding.text,
              HasSubstr("\"z\" is none of them"));
  EXPECT_FALSE(judged(rules, Log{{"b"}}).passes) << "nothing was named";
}

TEST(Names, ThatCannotBeReadBlameTheirKey) {
  const Ruleset rules =
      small_rules(R"({"key": "a", "exactly_these": {"member": "t", "names": ["x"]}})");
  const Log log = {{"a", "0", R"({"t": "x"})"}, {"a", "0", "\"t\""}};
  EXPECT_THAT(judged(rules, log).failing_keys, ElementsAre("a"));
}

TEST(Time, CountsFromTheEarliestRecordAndHasItsLimitInTheOpenDivision) {
  const Ruleset rules = small_rules(
      R"({"key": "submission_division"}, {"key": "init_start"},
         {"key": "init_stop", "checks": [
            {"minutes_since": "init_start", "below": 30, "below_in_open": 240}]})");
  const auto after = [&](const char* division, double minutes) {
    Log log = {{"init_start", "0", "{}", 600e3}, {"init_start", "0", "{}", 0}};
    if (division) log.insert(log.begin(), Line{"submission_division", division});
    log.push_back({"init_stop", "0", "{}", minutes * 60e3});
    return judged(rules, log).passes;
  };
  EXPECT_TRUE(after("\"closed\"", 29.9));
  EXPECT_FALSE(after("\"closed\"", 30));
  EXPECT_TRUE(after("\"open\"", 239.9));
  EXPECT_FALSE(after("\"open\"", 240));
  EXPECT_FALSE(after("\"Open\"", 31));
  EXPECT_FALSE(after(nullptr, 0)) << "no time at all before the division is known";
  EXPECT_TRUE(after(nullptr, -1));
}

constexpr char kChoice[] =
    R"({"key": "submission_division", "then": {"file": "{}_common"}},
       {"key": "a", "occurs": "exactly_one", "value": {"equals": 1}})";

TEST(Chain, ReplacesFindingsOfAnEarlierFilesRule) {
  const Ruleset rules = small_rules(
      kChoice, R"({"file": "closed_common", "rules": [{"key": "a", "value": {"equals": 2}}]})");
  EXPECT_FALSE(judged(rules, Log{{"a", "2"}}).passes);
  const Judgement judgement = judged(rules, Log{{"a", "2"}, {"submission_division", "\"closed\""}});
  EXPECT_TRUE(judgement.passes) << "though the choice came after the record";
  EXPECT_THAT(judgement.files, ElementsAre("common", "closed_common"));
  EXPECT_FALSE(judged(rules, Log{{"a", "1"}, {"submission_division", "\"closed\""}}).passes);
}

TEST(Chain, KeepsWhatNoKeyCanTakeBack) {
  const Ruleset rules = small_rules(
      R"({"key": "submission_division", "then": {"file": "{}_common"}},
         {"key": "a", "once": {"equals": 1}})",
      R"({"file": "closed_common", "rules": [{"key": "a"}]})");
  EXPECT_FALSE(judged(rules, Log{{"a", "2"}, {"submission_division", "\"closed\""}}).passes);
}

TEST(Chain, FailsWhereNoRulesAreForAValue) {
  const Ruleset rules = small_rules(kChoice);
  for (const char* value : {"\"closed\"", "\"\"", "5", "null", "[\"closed\"]"}) {
    const Judgement judgement = judged(rules, Log{{"a", "1"}, {"submission_division", value}});
    EXPECT_FALSE(judgement.passes) << value;
    EXPECT_THAT(rules_of(judgement), ElementsAre("common/submission_division/then"));
  }
}

TEST(Chain, AppliesTheFilesOfAllValuesOfAnOrdinaryKey) {
  const Ruleset rules =
      small_rules(R"({"key": "opt", "then": {"file": "opt_{}", "lower_case": true}})",
                  R"({"file": "opt_a", "rules": [{"key": "x", "occurs": "exactly_one"}]},
         {"file": "opt_b", "rules": [{"key": "y", "occurs": "exactly_one"}]})");
  EXPECT_THAT(judged(rules, Log{{"opt", "\"A\""}}).failing_keys, ElementsAre("x"));
  const Judgement both = judged(rules, Log{{"opt", "\"b\""}, {"opt", "\"a\""}, {"opt", "\"B\""}});
  EXPECT_THAT(both.failing_keys, ElementsAre("x", "y"));
  EXPECT_THAT(both.files, ElementsAre("common", "opt_a", "opt_b")) << "in order of their last turn";
  EXPECT_THAT(judged(rules, Log{{"opt", "7"}}).failing_keys, ElementsAre("opt"));
}

TEST(Chain, EndsWhereFilesFollowEachOther) {
  const Ruleset rules =
      small_rules(R"({"key": "go", "then": {"file": "f_{}"}})",
                  R"({"file": "f_x", "rules": [{"key": "go", "then": {"file": "f_{}"}}]})");
  EXPECT_THAT(judged(rules, Log{{"go", "\"x\""}}).files, ElementsAre("common", "f_x"));
}

TEST(Chain, SaysWhereOnlyCommonRulesApply) {
  const Ruleset rules = small_rules(
      R"({"key": "submission_benchmark", "value": {"benchmark_of_round": true},
          "then": {"file": "closed_{}", "or_common_rules_alone": true}})",
      R"({"file": "closed_toy", "rules": [{"key": "x", "occurs": "exactly_one"}]})");
  EXPECT_FALSE(judged(rules, Log{{"submission_benchmark", "\"toy\""}}).passes);
  const Judgement other = judged(rules, Log{{"submission_benchmark", "\"other\""}});
  EXPECT_TRUE(other.passes);
  ASSERT_EQ(other.findings.size(), 1u);
  EXPECT_EQ(other.findings[0].finding.severity, Finding::Severity::kNote);
  EXPECT_THAT(other.findings[0].finding.text, HasSubstr("only those common to all benchmarks"));
  EXPECT_FALSE(judged(rules, Log{{"submission_benchmark", "\"unknown\""}}).passes);
}

Ruleset rules_of_06() {
  Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one", "value": {"above": 0}})");
  rules.round.log_format = mllog::LogFormat::kMll;
  return rules;
}

TEST(OldFormats, AreJudgedInTheirRound) {
  EXPECT_TRUE(judged(rules_of_06(), Log{{"a", "1"}}).passes);
  EXPECT_FALSE(judged(rules_of_06(), Log{{"a", "0"}}).passes);
  EXPECT_FALSE(judged(rules_of_06(), Log{{"b", "1"}}).passes);
  EXPECT_TRUE(judged(rules_of_06(), ":::MLL 1.5 a: {\"value\": 1}\n").passes) << "no metadata";
  EXPECT_FALSE(judged(rules_of_06(), ":::MLL 1.5 a: {\"metadata\": {}}\n").passes) << "no value";
}

TEST(OldFormats, FailWhereMlcommonsParserRefusesALineThatIsRead) {
  const std::string good = ":::MLL 1.5 a: {\"value\": 1, \"metadata\": {}}\n";
  const Judgement judgement = judged(rules_of_06(), good + ":::MLL 1.5 b: {value: 1}\n");
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(rules_of(judgement), ElementsAre("log/record"));
  EXPECT_EQ(judgement.findings[0].finding.line, 2);
}

TEST(OldFormats, AreNoRecordsOfARoundOfToday) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one"})");
  const std::string old = ":::MLL 1.5 a: {\"value\": 1, \"metadata\": {}}\n";
  EXPECT_TRUE(judged(rules, old + text_of(Line{"a", "1"})).passes);
  const Judgement judgement = judged(rules, old);
  EXPECT_THAT(rules_of(judgement), ElementsAre("common/a/count", "log/records"));
  EXPECT_THAT(judgement.findings[1].finding.text, HasSubstr("':::MLLOG'"));
}

TEST(OldFormats, StumbleOverTheTokenOfToday) {
  const std::string good = ":::MLL 1.5 a: {\"value\": 1, \"metadata\": {}}\n";
  const Judgement judgement = judged(rules_of_06(), good + text_of(Line{"b", "1"}));
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(judgement.findings[0].finding.text, HasSubstr("must begin with ':::MLL '"));
  const std::string older = ":::MLPv0.5.0 ncf 1.5 (ncf.py:438) eval_start\n";
  EXPECT_TRUE(judged(rules_of_06(), good + older).passes);
}

TEST(Judging, CanBeAskedAtAnyTime) {
  const Ruleset rules = small_rules(R"({"key": "a", "occurs": "exactly_one"})");
  mllog::rules::Judge judge(rules);
  EXPECT_FALSE(judge.judgement().passes);
  mllog::Record record;
  record.line = 1;
  record.column = 1;
  record.key = "a";
  record.value = mllog::JsonText("1");
  record.metadata = mllog::JsonText("{}");
  judge.add(record);
  EXPECT_TRUE(judge.judgement().passes);
  EXPECT_THAT(judge.judgement().findings, IsEmpty());
}

}  // namespace

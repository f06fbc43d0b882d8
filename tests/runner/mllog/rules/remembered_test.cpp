// Rules that consider more than one record: formulas over other keys, names that rules set, and
// records gathered by position.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/mllog/rules/made_log.h"
#include "runner/mllog/rules/words.h"

namespace {

using made::judged;
using made::Log;
using made::refusal;
using made::Ruleset;
using made::small_rules;
using mllog::rules::Judgement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OtherKeys, CountByTheirLastValueBeforeTheRecord) {
  const Ruleset rules = small_rules(R"({"key": "batch"},
      {"key": "rate", "value": {"holds": "value == 2 * batch"}})");
  EXPECT_TRUE(judged(rules, Log{{"batch", "4"}, {"rate", "8"}}).passes);
  EXPECT_TRUE(judged(rules, Log{{"batch", "1"}, {"batch", "4"}, {"rate", "8"}}).passes);
  EXPECT_TRUE(judged(rules, Log{{"batch", "4"}, {"rate", "8"}, {"batch", "5"}}).passes);
  const Judgement wrong = judged(rules, Log{{"batch", "4"}, {"rate", "9"}});
  EXPECT_THAT(wrong.failing_keys, ElementsAre("rate"));
  EXPECT_EQ(wrong.findings[0].finding.text, "rate: must be such that value == 2 * batch, got 9");
}

TEST(OtherKeys, ThatWereNotLoggedCannotBeCompared) {
  const Ruleset rules = small_rules(R"({"key": "batch"},
      {"key": "rate", "checks": [{"holds": "value == 2 * batch"}]})");
  const Judgement judgement = judged(rules, Log{{"rate", "8"}, {"batch", "4"}});
  EXPECT_THAT(judgement.failing_keys, ElementsAre("rate"));
  EXPECT_THAT(judgement.findings[0].finding.text, HasSubstr("cannot be checked"));
}

TEST(OtherKeys, MustHaveARuleInTheFile) {
  EXPECT_THAT(refusal(R"({"key": "rate", "value": {"holds": "value == batch"}})"),
              HasSubstr("rule rate: refers to batch, which has no rule in this file"));
  EXPECT_THAT(refusal(R"({"key": "rate", "once": {"holds": "value == batch"}})"),
              HasSubstr("refers to batch"));
  EXPECT_THAT(refusal(R"({"key": "rate", "sets": ["a = batch"]})"), HasSubstr("refers to batch"));
  EXPECT_THAT(refusal(R"({"key": "rate", "value": {"holds": ""}})"), HasSubstr("/value/holds"));
}

constexpr char kGrid[] = R"json(
    {"key": "batch", "sets": ["next = 10 * value"]},
    {"key": "evaluation", "checks": [{"holds": "metadata.at == next"}],
     "sets": ["next = next + (batch if metadata.at == next else 0)"]
})json";

TEST(Names, AreSetAfterTheChecksOfTheirRecord) {
  const Ruleset rules = small_rules(kGrid);
  EXPECT_TRUE(judged(rules, Log{{"batch", "2"},
                                {"evaluation", "0", R"({"at": 20})"},
                                {"evaluation", "0", R"({"at": 22})"}})
                  .passes);
  const Judgement judgement = judged(rules, Log{{"batch", "2"},
                                                {"evaluation", "0", R"({"at": 20})"},
                                                {"evaluation", "0", R"({"at": 24})"},
                                                {"evaluation", "0", R"({"at": 22})"}});
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].finding.line, 3);
}

TEST(Names, ThatCannotBeComputedBlameTheKeyThatSetsThem) {
  const Judgement judgement = judged(small_rules(kGrid), Log{{"batch", "\"2\""}});
  EXPECT_THAT(judgement.failing_keys, ElementsAre("batch"));
  EXPECT_EQ(judgement.findings[0].finding.text,
            "batch: cannot be computed: next = 10 * value, got \"2\"");
  EXPECT_EQ(judgement.findings[0].finding.rule, "common/batch/sets");
}

TEST(Names, AreSeenByTheFirstChecksAndTheTargetOfTheSameRecord) {
  const Ruleset rules = small_rules(R"({"key": "a", "sets": ["b = value + 1"],
      "first_checks": [{"holds": "b == 3"}], "once": {"holds": "b == 5"}})");
  EXPECT_TRUE(judged(rules, Log{{"a", "2"}, {"a", "4"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "4"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"a", "2"}}).passes);
}

TEST(Names, MayBeginWithAConstant) {
  const std::string rule = R"({"key": "epoch", "checks": [{"holds": "value == last + 1"}],
      "sets": ["last = value"]})";
  const Ruleset rules = small_rules(rule, "", R"("begins_with": ["last = 0"])");
  EXPECT_TRUE(judged(rules, Log{{"epoch", "1"}, {"epoch", "2"}}).passes);
  EXPECT_FALSE(judged(rules, Log{{"epoch", "2"}}).passes);
  EXPECT_FALSE(judged(small_rules(rule), Log{{"epoch", "1"}}).passes) << "last is not set";
  EXPECT_THAT(refusal(rule, "", R"("begins_with": ["last = epoch"])"), HasSubstr("no constant"));
  EXPECT_THAT(refusal(rule, "", R"("begins_with": ["epoch = 1"])"),
              HasSubstr("sets epoch, which is a key of this file"));
  EXPECT_THAT(refusal(R"({"key": "a", "sets": ["a = 1"]})"), HasSubstr("rule a: sets a"));
}

TEST(Formulas, AtTheEndMustHoldAndBlameNoKey) {
  const Ruleset rules = small_rules(R"({"key": "lars", "sets": ["used = used + 1"]})", "",
                                    R"("begins_with": ["used = 0"], "at_end": ["used == 2"])");
  EXPECT_TRUE(judged(rules, Log{{"lars"}, {"lars"}}).passes);
  const Judgement judgement = judged(rules, Log{{"lars"}});
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(judgement.failing_keys, IsEmpty());
  EXPECT_THAT(judgement.findings[0].finding.text, HasSubstr("used == 2"));
}

constexpr char kGathered[] = R"({"key": "both", "occurs": "at_least", "times": 2,
    "gathered": {"from": "eval", "position": "samples", "part": "metric"},
    "value": {"has": ["FID", "CLIP", "samples"]},
    "once": {"holds": "value.FID <= 90 and value.CLIP >= 0.15"}})";

made::Line metric(const std::string& name, const std::string& value, const std::string& at) {
  return {"eval", value, R"({"metric": ")" + name + R"(", "samples": )" + at + "}"};
}

TEST(GatheredRecords, AreOneForEachPosition) {
  const Ruleset rules = small_rules(kGathered);
  const Log log = {metric("FID", "120", "512"), metric("FID", "80", "1024.0"),
                   metric("CLIP", "0.1", "512"), metric("CLIP", "0.2", "1024")};
  EXPECT_TRUE(judged(rules, log).passes);
  Log short_log = log;
  short_log.pop_back();
  const Judgement judgement = judged(rules, short_log);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("both"));
  EXPECT_EQ(judgement.findings[0].finding.line, 2) << "its last record's";
  EXPECT_THAT(judged(rules, Log{log[0], log[2]}).failing_keys, ElementsAre("both"))
      << "one position only";
}

TEST(GatheredRecords, KeepTheLastValueOfAPart) {
  const Log log = {metric("FID", "120", "512"), metric("CLIP", "0.2", "512"),
                   metric("FID", "80", "512"), metric("FID", "120", "1024"),
                   metric("CLIP", "0.2", "1024")};
  EXPECT_TRUE(judged(small_rules(kGathered), log).passes);
}

TEST(GatheredRecords, LeaveRecordsWithoutAPartAlone) {
  const Ruleset rules = small_rules(kGathered);
  const Log log = {metric("FID", "80", "512"),  metric("CLIP", "0.2", "512"),
                   metric("FID", "80", "1024"), metric("CLIP", "0.2", "1024"),
                   {"eval", "7", "{}"},         {"eval", "7", "[]"}};
  EXPECT_TRUE(judged(rules, log).passes);
  for (const char* const metadata :
       {"null", "5", R"({"metric": "FID"})", R"({"metric": [], "samples": 1})"}) {
    Log broken = log;
    broken.push_back({"eval", "7", metadata});
    EXPECT_THAT(judged(rules, broken).failing_keys, ElementsAre("both")) << metadata;
  }
}

TEST(GatheredRecords, CanBeAskedForAtAnyTime) {
  EXPECT_THAT(judged(small_rules(kGathered), Log{}).failing_keys, ElementsAre("both"));
}

TEST(Words, TellWhatIsRememberedAndGathered) {
  const Ruleset rules = small_rules(std::string(kGrid) + ", " + kGathered);
  EXPECT_THAT(words(rules.files[0].rules[1]),
              ElementsAre("must be such that metadata.at == next",
                          "sets next = next + (batch if metadata.at == next else 0)"));
  EXPECT_THAT(words(rules.files[0].rules[2])[1],
              "made of the records of eval whose metadata has metric: for each samples an object "
              "of their values by metric, and samples");
}

TEST(Keys, WithBracesStandForSeveral) {
  const Ruleset rules =
      small_rules(R"({"key": "{tensor,expert}_parallelism", "occurs": "exactly_one"})");
  EXPECT_THAT(judged(rules, Log{{"seed"}}).failing_keys,
              ElementsAre("expert_parallelism", "tensor_parallelism"));
  EXPECT_THAT(refusal(R"({"key": "a{1,1}"})"), HasSubstr("a second rule"));
  EXPECT_THAT(refusal(R"({"key": "a{1..x}"})"), HasSubstr("must be like 0..3"));
  EXPECT_THAT(refusal(R"({"key": "a{3..1}"})"), HasSubstr("none or too many"));
  EXPECT_THAT(refusal(R"({"key": "a{1..9999999}"})"), HasSubstr("none or too many"));
}

}  // namespace

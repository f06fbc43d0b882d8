// The rules of all rounds: errors in loading, editions, overlays, and figures that must not change.
#include "runner/mllog/rules/rule_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runner/base/error.h"
#include "runner/mllog/rules/made_log.h"
#include "runner/mllog/rules/words.h"

namespace {

namespace fs = std::filesystem;
using made::refusal;
using made::rules_of;
using made::small_rules;
using mllog::rules::Round;
using mllog::rules::Rule;
using mllog::rules::RuleBook;
using mllog::rules::Ruleset;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Loading, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal(R"({"key": "a", "occures": "exactly_one"})"), HasSubstr("occurs"));
  EXPECT_THAT(refusal(R"({"key": "a", "occurs": "exactly_two"})"), HasSubstr("must be one of"));
  EXPECT_THAT(refusal(R"({"key": "a", "value": {"over": 1}})"), HasSubstr("over"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [{"behind": "b"}]})"),
              HasSubstr("must have one of"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [{"after": "b", "has": ["x"]}]})"),
              HasSubstr("test, file common, rule a, checks 1"));
}

TEST(Loading, RefusesWhatIsMissingOrOfAnotherKind) {
  EXPECT_THAT(refusal(R"({"occurs": "any"})"), HasSubstr("/key"));
  EXPECT_THAT(refusal(R"({"key": ""})"), HasSubstr("/key"));
  EXPECT_THAT(refusal(R"({"key": "a", "value": {}})"), HasSubstr("must hold a condition"));
  EXPECT_THAT(refusal(R"({"key": "a", "value": {"above": "1"}})"), HasSubstr("/value/above"));
  EXPECT_THAT(refusal(R"({"key": "a", "value": {"one_of": []}})"), HasSubstr("must not be empty"));
  EXPECT_THAT(refusal(R"({"key": "a", "value": {"multiple_of": 0}})"), HasSubstr("positive"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": {"after": "b"}})"), HasSubstr("array of objects"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [7]})"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("7"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal(R"({"key": "a", "occurs": "at_least", "times": 0})"), HasSubstr("/times"));
}

TEST(Loading, RefusesRulesThatDoNotFitTogether) {
  EXPECT_THAT(refusal(R"({"key": "a"}, {"key": "a"})"), HasSubstr("a second rule"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [{"after": "b"}]})"),
              HasSubstr("refers to b, which has no rule"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [{"after": "a"}]})"), HasSubstr("itself"));
  EXPECT_THAT(refusal(R"({"key": "a", "occurs": "at_least_one_of", "of": ["a", "b"]})"),
              HasSubstr("refers to b"));
  EXPECT_THAT(refusal(R"({"key": "a", "occurs": "at_least_one_of", "of": ["b"]})"),
              HasSubstr("own key"));
  EXPECT_THAT(refusal(R"({"key": "a", "then": {"file": "x", "where": "v"}})"),
              HasSubstr("no file of this round"));
  EXPECT_THAT(refusal(R"({"key": "a", "then": {"file": "x"}})"), HasSubstr("must hold {}"));
  EXPECT_THAT(refusal(R"({"key": "a", "then": {"file": "{}", "where": "v"}})"),
              HasSubstr("must hold {}"));
  EXPECT_THAT(refusal(R"({"key": "b"},
      {"key": "a", "checks": [{"minutes_since": "b", "below": 1, "below_in_open": 2}]})"),
              HasSubstr("submission_division"));
}

TEST(Loading, RefusesRoundsThatAreNotThere) {
  EXPECT_THAT(refusal(R"({"key": "a", "since": "9.0"})"), HasSubstr("no round hpc-9.0"));
  EXPECT_THAT(refusal(R"({"key": "a", "except": ["9.0"]})"), HasSubstr("no round hpc-9.0"));
  EXPECT_THAT(refusal(R"({"key": "a", "checks": [{"has": ["x"], "until": "9.0"}]})"),
              HasSubstr("no round hpc-9.0"));
}

TEST(Loading, RefusesNamesThatAreNotOnes) {
  const auto names = [](const std::string& list) {
    return refusal(R"({"key": "a", "exactly_these": {"member": "m", "names": [)" + list + "]}}");
  };
  EXPECT_EQ(names(R"("a{1,2}", "b")"), "");
  EXPECT_THAT(names(R"("a{1,2")"), HasSubstr("{ without }"));
  EXPECT_THAT(names(R"("a{1,1}")"), HasSubstr("each once"));
  EXPECT_THAT(names(""), HasSubstr("each once"));
  EXPECT_THAT(names(R"("layer_{0..99}/{a,b}", "layer_99/b")"), HasSubstr("each once"));
}

TEST(Rounds, AreInTheirOrder) {
  std::vector<std::string> with_rules;
  const RuleBook book;
  for (const Round& round : book.rounds()) {
    if (round.no_rules_because.empty()) with_rules.push_back(round.name());
  }
  EXPECT_THAT(
      with_rules,
      ElementsAre("training-0.6", "training-0.7", "training-1.0", "training-1.1", "training-2.0",
                  "training-2.1", "training-3.0", "training-3.1", "training-4.0", "training-4.1",
                  "training-5.0", "training-5.1", "training-6.0", "training-6.1", "hpc-0.7",
                  "hpc-1.0", "hpc-2.0", "hpc-3.0"));
  EXPECT_NE(book.find("training", "0.5"), nullptr);
  EXPECT_EQ(book.find("hpc", "2.1"), nullptr);
}

const Rule* rule(const Ruleset& rules, const std::string& file, const std::string& key) {
  return rules.find(file) ? rules.find(file)->find(key) : nullptr;
}

std::vector<std::string> asked(const std::string& usage, const std::string& round,
                               const std::string& file, const std::string& key) {
  const Ruleset rules = rules_of(usage, round);
  const Rule* const found = rule(rules, file, key);
  return found ? words(*found) : std::vector<std::string>{};
}

TEST(Figures, OfTargetsAreThoseOfTheRounds) {
  const auto once = [](const char* usage, const char* round, const char* file, const char* key) {
    const std::vector<std::string> all = asked(usage, round, file, key);
    return all.empty() ? "" : all.back();
  };
  EXPECT_EQ(once("training", "0.7", "open_resnet", "eval_accuracy"),
            "at least one must be at least 0.759 and below 1");
  EXPECT_EQ(once("training", "1.0", "open_resnet", "eval_accuracy"),
            "at least one must be below 1");
  EXPECT_EQ(once("training", "4.0", "closed_resnet", "eval_accuracy"),
            "at least one must be at least 0.759 and below 1");
  EXPECT_EQ(once("training", "2.1", "closed_dlrm", "eval_accuracy"),
            "at least one must be at least 0.8025 and below 1");
  EXPECT_EQ(once("training", "6.0", "closed_dlrm_dcnv2", "eval_accuracy"),
            "at least one must be at least 0.80275 and at most 1");
  EXPECT_EQ(once("training", "0.7", "closed_bert", "eval_accuracy"),
            "at least one must be below 1 and such that value >= (0.712 if global_batch_size < "
            "8192 else 0.706)");
  EXPECT_EQ(once("training", "0.7", "open_bert", "eval_accuracy"),
            "at least one must be at least 0.712 and below 1");
  EXPECT_EQ(once("training", "1.1", "closed_ssd", "eval_accuracy"),
            "at least one must be at least 0.23 and below 1");
  EXPECT_EQ(once("training", "2.0", "closed_ssd", "eval_accuracy"),
            "at least one must be at least 0.34 and below 1");
  EXPECT_EQ(once("training", "3.1", "closed_maskrcnn", "eval_accuracy"),
            "at least one must be such that value.BBOX >= 0.377 and value.SEGM >= 0.339 and such "
            "that value.BBOX < 1 and value.SEGM < 1");
  EXPECT_EQ(once("training", "4.1", "closed_gpt3", "eval_accuracy"),
            "at least one must be above 2.6 and at most 2.69");
  EXPECT_EQ(once("training", "5.0", "closed_stable_diffusion", "aggregated_eval_accuracy"),
            "at least one must be such that value.FID <= 90 and value.CLIP >= 0.15 and such that "
            "value.FID >= 0 and value.CLIP <= 1");
  EXPECT_EQ(once("training", "6.1", "open_qwen35_397b_grpo", "eval_accuracy"),
            "at least one must be above 0.69");
  EXPECT_EQ(once("hpc", "0.7", "open_cosmoflow", "eval_error"),
            "at least one must be above 0 and at most 0.124");
  EXPECT_EQ(once("hpc", "3.0", "closed_deepcam", "eval_accuracy"),
            "at least one must be at least 0.82 and at most 1");
  EXPECT_EQ(once("hpc", "1.0", "closed_oc20", "eval_error"),
            "at least one must be above 0 and at most 0.036");
  EXPECT_EQ(once("hpc", "3.0", "open_openfold", "eval_accuracy"),
            "at least one must be at least 0.8 and at most 1");
}

TEST(Figures, OfInitTimeChangeWithTheRounds) {
  const auto minutes = [](const char* usage, const char* round) {
    return asked(usage, round, "common", "init_stop").back();
  };
  EXPECT_THAT(minutes("training", "0.7"), HasSubstr("less than 20 minutes"));
  EXPECT_THAT(minutes("training", "1.1"), HasSubstr("less than 30 minutes"));
  EXPECT_THAT(minutes("training", "2.0"), HasSubstr("less than 30 (open division: 240;"));
  EXPECT_THAT(minutes("hpc", "0.7"), HasSubstr("less than 20 minutes"));
  EXPECT_THAT(minutes("hpc", "3.0"), HasSubstr("less than 30 minutes"));
}

TEST(Figures, OfKeysComeAndGoWithTheRounds) {
  const auto has = [](const char* usage, const char* round, const char* file, const char* key) {
    return !asked(usage, round, file, key).empty();
  };
  EXPECT_TRUE(has("training", "4.1", "common", "submission_org"));
  EXPECT_FALSE(has("training", "5.0", "common", "submission_org"));
  EXPECT_TRUE(has("training", "5.1", "common", "submission_org"));
  EXPECT_TRUE(has("training", "4.0", "common", "submission_status"));
  EXPECT_FALSE(has("training", "4.1", "common", "submission_status"));
  EXPECT_FALSE(has("training", "0.7", "closed_common", "gradient_accumulation_steps"));
  EXPECT_FALSE(has("training", "4.1", "closed_resnet", "opt_name"));
  EXPECT_FALSE(has("training", "6.1", "closed_dlrm_dcnv2", "opt_name"));
  EXPECT_FALSE(has("hpc", "0.7", "closed_common", "number_of_nodes"));
  EXPECT_FALSE(has("hpc", "2.0", "closed_openfold", "opt_name"));
  EXPECT_TRUE(has("training", "6.0", "common", "micro_batch_size"));
  EXPECT_FALSE(has("training", "5.1", "common", "micro_batch_size"));
  EXPECT_THAT(asked("hpc", "2.0", "common", "staging_start"),
              ElementsAre("must come after run_start"));
  EXPECT_THAT(asked("hpc", "3.0", "common", "staging_start"),
              ElementsAre("any number of records, any value"));
}

TEST(Figures, OfTensorsAre161AndNine) {
  const Ruleset rules = rules_of("training", "1.1");
  const auto& resnet = rule(rules, "closed_resnet", "weights_initialization")->exactly_these->names;
  EXPECT_EQ(resnet.size(), 161u);
  EXPECT_THAT(resnet, Contains("stage3_unit6_bn3_gamma"));
  EXPECT_THAT(resnet, Contains("stage4_unit1_conv1sc_weight"));
  EXPECT_EQ(rule(rules, "closed_dlrm", "weights_initialization")->exactly_these->names.size(), 9u);
  EXPECT_EQ(rule(rules_of("training", "1.0"), "closed_resnet", "weights_initialization"), nullptr);
}

TEST(Figures, OfDisclosureAreRequiredFrom61On) {
  for (const char* const key :
       {"lowest_numerical_precision_in_linear", "lowest_numerical_precision_in_attn",
        "lowest_numerical_precision_in_comm", "tensor_parallelism", "pipeline_parallelism",
        "context_parallelism", "expert_parallelism", "micro_batch_size", "config_filename"}) {
    EXPECT_EQ(asked("training", "6.0", "common", key).front(), "may be absent") << key;
    EXPECT_THAT(asked("training", "6.1", "common", key).front(), HasSubstr("exactly one")) << key;
  }
  EXPECT_THAT(asked("training", "6.1", "common", "micro_batch_size"),
              Contains("must be at least 1 and an integer (within 1e-5)"));
}

TEST(Targets, AreThoseOfTheFilesBenchmark) {
  const auto files = [](const std::string& name) {
    return R"({"file": ")" + name + R"(", "rules": [{"key": "a", "once": {"target": true}}]})";
  };
  const Ruleset rules = small_rules(R"({"key": "b"})", files("closed_deepcam"));
  EXPECT_THAT(words(*rule(rules, "closed_deepcam", "a")),
              ElementsAre("at least one must be at least 0.82"));
  EXPECT_THAT(refusal(R"({"key": "b"})", files("closed_toy")),
              HasSubstr("asks for the target of toy, which is no known benchmark of hpc"));
  EXPECT_THAT(refusal(R"({"key": "b"})", files("closed_resnet")), HasSubstr("of hpc"));
}

class Overlay : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  fs::path folder_ =
      fs::path(testing::TempDir()) /
      (std::string("rules_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

constexpr char kSite[] = R"({"usage": "hpc", "files": [{"file": "closed_oc20", "rules": [
    {"key": "seed", "occurs": "exactly_one"},
    {"key": "opt_name", "removed": true},
    {"key": "eval_error", "since": "3.0", "once": {"at_most": 0.1}}]}]})";

TEST_F(Overlay, AddsReplacesAndRemovesRules) {
  const RuleBook book({write("site.json", kSite)});
  const Ruleset rules = book.ruleset(*book.find("hpc", "3.0"));
  EXPECT_EQ(rules.name, "hpc-3.0.0+site");
  EXPECT_NE(rule(rules, "closed_oc20", "seed"), nullptr);
  EXPECT_EQ(rule(rules, "closed_oc20", "opt_name"), nullptr);
  EXPECT_THAT(words(*rule(rules, "closed_oc20", "eval_error")),
              ElementsAre("at least one must be at most 0.1"));
  const Ruleset earlier = book.ruleset(*book.find("hpc", "2.0"));
  EXPECT_THAT(words(*rule(earlier, "closed_oc20", "eval_error")).back(), HasSubstr("0.036"));
}

TEST_F(Overlay, MayBeAFolderAndAddARound) {
  write("a.json", kSite);
  write("b.json", R"({"usage": "hpc", "rounds": [{"round": "4.0", "benchmarks": ["oc20"]}]})");
  const RuleBook book({folder_.string()});
  ASSERT_NE(book.find("hpc", "4.0"), nullptr);
  const Ruleset rules = book.ruleset(*book.find("hpc", "4.0"));
  EXPECT_NE(rule(rules, "closed_oc20", "seed"), nullptr);
  EXPECT_NE(rule(rules, "common", "run_start"), nullptr);
}

TEST_F(Overlay, IsRefusedWithItsPlace) {
  const auto fault = [](const std::string& path) -> std::string {
    try {
      const RuleBook book({path});
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(fault(write("bad.json", "{\n\"usage\": }")), HasSubstr("bad.json: line 2"));
  EXPECT_THAT(fault(write("bad.json", R"({"usage": "inference", "files": [{}]})")),
              HasSubstr("training or hpc"));
  EXPECT_THAT(fault(write("bad.json", R"({"usage": "hpc"})")), HasSubstr("rounds or files"));
  EXPECT_THAT(fault(write("bad.json", R"({"usage": "hpc", "rounds": [{"round": "1.0",
      "benchmarks": ["a"]}]})")),
              HasSubstr("already there"));
  EXPECT_THAT(fault((folder_ / "none.json").string()), HasSubstr("none.json"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(fault((folder_ / "empty").string()), HasSubstr("expected *.json"));
}

}  // namespace

// Verdicts on malformed and unusual logs: each row of mllog.md 2.4, on a log of OC20 under hpc-3.0.
// If MLCommons' checker crashes, the log fails with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runner/mllog/rules/made_log.h"

namespace {

using made::judged;
using made::Line;
using made::Log;
using made::Warnings;
using mllog::Finding;
using mllog::rules::Judgement;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Corner : public testing::Test {
 protected:
  static Log good() { return made::good_log(rules(), {"closed", "oc20", "AdamW", ""}); }
  static const made::Ruleset& rules() {
    static const made::Ruleset rules = made::rules_of("hpc", "3.0");
    return rules;
  }

  static Line& line(Log& log, const std::string& key) {
    return *std::find_if(log.begin(), log.end(), [&](const Line& one) { return one.key == key; });
  }

  static std::string good_text() { return text_of(good()); }

  /// The good log's text with the line of a key changed.
  static std::string changed(const std::string& key,
                             const std::function<std::string(std::string)>& change) {
    std::string text;
    for (const Line& one : good()) {
      text += one.key == key ? change(text_of(one)) : text_of(one);
    }
    return text;
  }

  static std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
  }

  static std::string with(const std::string& key, const std::string& what, const std::string& by) {
    return changed(key, [&](const std::string& text) { return replaced(text, what, by); });
  }

  static bool tells(const Judgement& judgement, const std::string& part) {
    return std::any_of(judgement.findings.begin(), judgement.findings.end(), [&](const auto& one) {
      return one.finding.severity == Finding::Severity::kError &&
             one.finding.text.find(part) != std::string::npos;
    });
  }
};

TEST_F(Corner, LinesWithoutTheTokenAreIgnored) {
  EXPECT_TRUE(judged(rules(), "noise\n" + good_text() + ":::MLLOG{\"key\": 1}\n").passes);
}

TEST_F(Corner, TextBeforeTheTokenIsFine) {
  EXPECT_TRUE(
      judged(rules(), changed("eval_error",
                              [](const std::string& text) { return "[0] 2 % :::MLLO" + text; }))
          .passes);
}

TEST_F(Corner, OfTwoRecordsOnALineTheLastCounts) {
  const std::string glued = changed("global_batch_size", [](std::string text) {
    text.pop_back();
    return text;
  });
  const Judgement judgement = judged(rules(), glued);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("global_batch_size"));
}

TEST_F(Corner, TruncatedRecordsAndTextBehindThemFail) {
  const std::string truncated = changed(
      "epoch_stop", [](std::string text) { return text.substr(0, text.size() - 3) + "\n"; });
  const std::string more = changed(
      "epoch_stop", [](std::string text) { return text.substr(0, text.size() - 1) + " more\n"; });
  for (const std::string& text : {truncated, more}) {
    const Judgement judgement = judged(rules(), text);
    EXPECT_FALSE(judgement.passes);
    EXPECT_TRUE(tells(judgement, "not a record"));
    EXPECT_GT(judgement.findings[0].finding.line, 0);
  }
}

TEST_F(Corner, MissingAndImpossibleFieldsFailWithAReason) {
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "\"time_ms\"", "\"time\"")), "time_ms"));
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "1600000000000", "\"1.2.3\"")), "time_ms"));
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "1600000000000", "null")), "time_ms"));
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "\"key\"", "\"name\"")), "key"));
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "\"metadata\"", "\"meta\"")), "metadata"));
  EXPECT_TRUE(tells(judged(rules(), with("epoch_stop", "\"value\"", "\"v\"")), "value"));
  EXPECT_TRUE(tells(judged(rules(), good_text() + ":::MLLOG 5\n"), "not a record"));
  EXPECT_TRUE(tells(judged(rules(), good_text() + ":::MLLOG [1]\n"), "not a record"));
}

TEST_F(Corner, MetadataNullCannotBeChecked) {
  Log log = good();
  line(log, "epoch_stop").metadata = "null";
  const Judgement judgement = judged(rules(), log);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("epoch_stop"));
  EXPECT_TRUE(tells(judgement, "cannot be checked"));
  log = good();
  line(log, "global_batch_size").metadata = "null";
  EXPECT_TRUE(judged(rules(), log).passes) << "nobody asks for it there";
}

TEST_F(Corner, EvaluationsThatAreTextFail) {
  Log log = good();
  line(log, "eval_error").value = "\"0.03\"";
  EXPECT_THAT(judged(rules(), log).failing_keys, ElementsAre("eval_error"));
}

TEST_F(Corner, NumbersAsTextCannotBeChecked) {
  Log log = good();
  line(log, "global_batch_size").value = "\"256\"";
  const Judgement judgement = judged(rules(), log);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("global_batch_size"));
  EXPECT_TRUE(tells(judgement, "cannot be checked"));
}

TEST_F(Corner, UnknownBenchmarksFail) {
  Log log = good();
  line(log, "submission_benchmark").value = "\"resnet\"";
  const Judgement judgement = judged(rules(), log);
  EXPECT_THAT(judgement.failing_keys, ElementsAre("submission_benchmark"));
  EXPECT_TRUE(tells(judgement, "hpc-3.0.0 has no rules for \"resnet\""));
}

TEST_F(Corner, OneKeyTwiceIsFineIfTheValueIsTheSame) {
  Log log = good();
  const Line again = line(log, "opt_name");
  log.push_back(again);
  EXPECT_TRUE(judged(rules(), log).passes);
  EXPECT_FALSE(judged(rules(), log, Warnings::kAreErrors).passes);
  log.back().value = "\"Adam\"";
  EXPECT_FALSE(judged(rules(), log).passes);
}

TEST_F(Corner, WhatNoRuleAsksForPasses) {
  Log log = good();
  line(log, "run_stop").metadata = R"({"status": "aborted"})";
  EXPECT_TRUE(judged(rules(), log).passes) << "aborted";
  log = good();
  for (Line& one : log) one.time_ms = -one.time_ms;
  EXPECT_TRUE(judged(rules(), log).passes) << "time runs backwards";
  EXPECT_TRUE(judged(rules(), with("run_stop", "POINT_IN_TIME", "NONSENSE")).passes);
  EXPECT_TRUE(judged(rules(), with("run_stop", "\"namespace\": \"\"", "\"namespace\": 3")).passes);
  log = good();
  std::rotate(
      std::find_if(log.begin(), log.end(), [](const Line& one) { return one.key == "eval_error"; }),
      log.end() - 1, log.end());
  EXPECT_TRUE(judged(rules(), log).passes) << "evaluations after run_stop";
}

TEST_F(Corner, SeedIsAskedOfDeepcamAlone) {
  const auto without_seed = [](const std::string& benchmark, const std::string& optimizer) {
    Log log = made::good_log(rules(), {"closed", benchmark, optimizer, "multistep"});
    std::erase_if(log, [](const Line& one) { return one.key == "seed"; });
    return judged(rules(), log);
  };
  EXPECT_TRUE(without_seed("oc20", "AdamW").passes);
  EXPECT_THAT(without_seed("deepcam", "Adam").failing_keys, ElementsAre("seed"));
}

TEST_F(Corner, TheWholeLogTwiceFails) {
  EXPECT_FALSE(judged(rules(), good_text() + good_text()).passes);
}

TEST_F(Corner, AnEmptyFileFails) {
  const Judgement judgement = judged(rules(), "");
  EXPECT_FALSE(judgement.passes);
  EXPECT_TRUE(tells(judgement, "no record"));
  EXPECT_THAT(judgement.failing_keys, Contains("submission_division"));
  EXPECT_THAT(judgement.failing_keys, testing::Not(Contains("global_batch_size")));
}

TEST_F(Corner, LineEndsAndTimesAsTextAreFine) {
  std::string text = good_text();
  for (const std::string end : {"\r\n", "\r"}) {
    std::string other;
    for (const char c : text) other += c == '\n' ? end : std::string(1, c);
    EXPECT_TRUE(judged(rules(), other).passes);
  }
  EXPECT_TRUE(judged(rules(), with("run_stop", "1600000000000", "\"1600000000000.5\"")).passes);
}

TEST_F(Corner, EverythingThatIsWrongIsTold) {
  Log log = good();
  line(log, "global_batch_size").value = "0";
  line(log, "opt_name").value = "\"SGD\"";
  line(log, "eval_error").value = "0.04";
  EXPECT_THAT(judged(rules(), log).failing_keys,
              ElementsAre("eval_error", "global_batch_size", "opt_name"));
}

}  // namespace

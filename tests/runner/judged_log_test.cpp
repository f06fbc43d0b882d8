// A log judged while it is written: findings reported at once, and the final verdict.
#include "runner/judged_log.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/mllog/keys.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace keys = mllog::keys;

class LineSink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

class DateClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return ms * 1'000'000; }
  std::int64_t unix_ms() const override { return ms; }
  std::int64_t ms = 1'717'000'000'000;  // May 2024
};

constexpr std::int64_t kMinuteMs = 60'000;

/// A log of the closed division up to init_stop.
struct JudgedLogTest : testing::Test {
  DateClock clock;
  LineSink file;
  RunRules rules = choose_rules(
      {RulesMode::kStrict, ""},
      parse_run_config(
          base::ObjectReader(
              json{{"workload", "toy"}, {"epochs", 1}, {"results", {{"system", "a"}}}}, "toy.json"),
          "toy.json"),
      "resnet", clock);
  std::vector<std::string> told;
  JudgedLog judged{file, rules, [this](const mllog::Finding& one) { told.push_back(one.rule); }};
  mllog::LogWriter log{&judged, clock};

  void initialize(std::int64_t minutes) {
    log.event(keys::kSubmissionBenchmark, "resnet");
    log.event(keys::kSubmissionDivision, "closed");
    log.event(keys::kOptName, "adagrad");  // breaks a rule, but is reported before the run
    log.start(keys::kInitStart);
    clock.ms += minutes * kMinuteMs;
    log.end(keys::kInitStop);
  }
};

TEST_F(JudgedLogTest, PassesEveryRecordOn) {
  initialize(1);
  EXPECT_EQ(file.lines.size(), 5U);
  EXPECT_THAT(file.lines.back(), HasSubstr("\"init_stop\""));
}

TEST_F(JudgedLogTest, TellsNothingThatMayStillCome) {
  initialize(1);
  log.start(keys::kRunStart);
  log.start(keys::kBlockStart, {{keys::kFirstEpochNum, 1}, {keys::kEpochCount, 4}});
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(judged.first_break(), "");
}

TEST_F(JudgedLogTest, TellsAtOnceOfAnInitialisationThatTookTooLong) {
  initialize(31);
  EXPECT_THAT(told, ElementsAre("common/init_stop/time"));
  EXPECT_THAT(judged.first_break(), HasSubstr("must come less than 30"));
  log.start(keys::kRunStart);
  EXPECT_EQ(told.size(), 1U);
}

TEST_F(JudgedLogTest, TellsAtOnceOfRecordsThatTheRulesForbid) {
  initialize(1);
  log.start(keys::kEvalStart);  // without epoch_num
  EXPECT_THAT(told, ElementsAre("common/eval_start/metadata"));
  log.start(keys::kRunStart);
  clock.ms += kMinuteMs;
  log.event(keys::kOptName, "sgd");
  EXPECT_THAT(told, ElementsAre("common/eval_start/metadata", "closed_resnet/opt_name/count"));
  EXPECT_THAT(judged.first_break(), HasSubstr("eval_start: "));
}

TEST_F(JudgedLogTest, GivesTheVerdictInAFewWords) {
  initialize(1);
  const auto judgement = judged.judgement();
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(verdict_text(rules, judgement),
              AllOf(HasSubstr("fails training-4.0: "), HasSubstr(" more; `trainmark check`")));
  const json document = to_json(rules, judgement);
  EXPECT_EQ(document["round"], "training-4.0");
  EXPECT_EQ(document["mode"], "strict");
  EXPECT_EQ(document["passes"], false);
  EXPECT_EQ(document["failing_keys"].size(), judgement.failing_keys.size());
  EXPECT_GE(document["errors"], document["failing_keys"].size());
  mllog::rules::Judgement passed;
  passed.passes = true;
  EXPECT_EQ(verdict_text(rules, passed), "passes training-4.0");
}

}  // namespace
}  // namespace runner

// Every rule of every round: a log that satisfies all, and logs that break one of them alone. The
// logs are generated from the rules; other tests check the rules' figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runner/mllog/rules/made_log.h"
#include "runner/mllog/rules/rule_book.h"

namespace {

using made::Line;
using made::Log;
using made::Variant;
using mllog::rules::Check;
using mllog::rules::Judgement;
using mllog::rules::Occurrence;
using mllog::rules::Rule;
using mllog::rules::RuleBook;
using mllog::rules::Ruleset;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string shown(const Judgement& judgement) {
  std::string text;
  for (const auto& one : judgement.findings) {
    text += one.finding.rule + ": " + one.finding.text + "\n";
  }
  return text;
}

/// Each benchmark with rules of its own in the round, in both divisions, with each optimizer and
/// schedule.
std::vector<Variant> variants(const Ruleset& rules) {
  std::vector<Variant> all;
  for (const std::string& benchmark : rules.round.benchmarks) {
    if (rules.find("open_" + benchmark)) all.push_back({"open", benchmark, "", ""});
    const auto* const closed = rules.find("closed_" + benchmark);
    if (closed == nullptr) continue;
    const Rule* const optimizer = closed->find("opt_name");
    const Rule* const scheduler = closed->find("scheduler_type");
    const auto texts = [](const Rule* rule) {
      const bool chooses = rule != nullptr && !rule->checks.empty();
      return chooses ? rule->checks[0].predicate[0].texts : std::vector<std::string>{""};
    };
    for (const std::string& name : texts(optimizer)) {
      for (const std::string& type : texts(scheduler)) {
        all.push_back({"closed", benchmark, name, type});
      }
    }
  }
  return all;
}

class EveryRule : public testing::Test {
 protected:
  /// Calls `ask` with the rules, the variant and its good log.
  template <class Ask>
  void for_each_variant(const Ask& ask) {
    const RuleBook book;
    int asked = 0;
    for (const auto& round : book.rounds()) {
      if (!round.no_rules_because.empty()) continue;
      const Ruleset rules = book.ruleset(round);
      for (const Variant& variant : variants(rules)) {
        SCOPED_TRACE(rules.name + " " + variant.division + " " + variant.benchmark + " " +
                     variant.opt_name + " " + variant.scheduler_type);
        ask(rules, variant, made::good_log(rules, variant));
        ++asked;
      }
    }
    EXPECT_GT(asked, 200);
  }

  /// The same for each rule that judges such a log.
  template <class Ask>
  void for_each_rule(const Ask& ask) {
    for_each_variant([&](const Ruleset& rules, const Variant& variant, const Log& good) {
      for (const Rule* rule : made::rules_in(made::chain(rules, variant))) {
        SCOPED_TRACE(rule->key);
        ask(rules, *rule, good);
      }
    });
  }
};

Log without(const Log& log, const std::string& key) {
  Log rest;
  std::copy_if(log.begin(), log.end(), std::back_inserter(rest),
               [&](const Line& line) { return line.key != key; });
  return rest;
}

Log with_value(Log log, const std::string& key, const std::string& value) {
  for (Line& line : log) {
    if (line.key == key) line.value = value;
  }
  return log;
}

/// Whether other requirements depend on its records.
bool has_followers(const Rule& rule) {
  return rule.then.has_value() || rule.slot.has_value() || !rule.sets.empty();
}

/// Whether another rule judges records that are gathered from this key's.
bool is_gathered_from(const Ruleset& rules, const std::string& key) {
  return std::any_of(rules.files.begin(), rules.files.end(), [&](const auto& file) {
    return std::any_of(file.rules.begin(), file.rules.end(), [&](const Rule& rule) {
      return rule.gathered && rule.gathered->from == key;
    });
  });
}

TEST_F(EveryRule, IsSatisfiedByAGoodLog) {
  for_each_variant([](const Ruleset& rules, const Variant&, const Log& good) {
    const Judgement judgement = made::judged(rules, good);
    EXPECT_TRUE(judgement.passes) << shown(judgement);
    EXPECT_THAT(judgement.findings, IsEmpty()) << shown(judgement);
  });
}

TEST_F(EveryRule, OfNumbersIsBrokenByAbsence) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    const bool required = rule.occurs.kind == Occurrence::Kind::kExactlyOne ||
                          rule.occurs.kind == Occurrence::Kind::kAtLeast;
    const std::string& logged = rule.gathered ? rule.gathered->from : rule.key;
    const Judgement judgement = made::judged(rules, without(good, logged));
    if (!required) return;
    EXPECT_FALSE(judgement.passes);
    EXPECT_THAT(judgement.failing_keys, Contains(rule.key)) << shown(judgement);
  });
}

TEST_F(EveryRule, OfOneRecordIsBrokenByASecondValue) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    if (rule.occurs.kind != Occurrence::Kind::kExactlyOne) return;
    Log log = good;
    const auto at = std::find_if(log.begin(), log.end(),
                                 [&](const Line& line) { return line.key == rule.key; });
    Line second = *at;
    second.value = "[\"another\"]";
    log.insert(at + 1, second);
    const Judgement judgement = made::judged(rules, log);
    EXPECT_FALSE(judgement.passes);
    EXPECT_THAT(judgement.failing_keys, Contains(rule.key)) << shown(judgement);
    if (!has_followers(rule)) {
      EXPECT_EQ(judgement.failing_keys.size(), 1u) << shown(judgement);
    }
  });
}

TEST_F(EveryRule, OfValuesIsBrokenByAWrongOne) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    for (const Check& check : rule.checks) {
      const std::string bad = made::bad_value(check.predicate);
      if (check.kind != Check::Kind::kValue || bad.empty() || rule.gathered) continue;
      const Judgement judgement = made::judged(rules, with_value(good, rule.key, bad));
      EXPECT_FALSE(judgement.passes);
      EXPECT_THAT(judgement.failing_keys, Contains(rule.key)) << shown(judgement);
      if (!has_followers(rule)) {
        EXPECT_EQ(judgement.failing_keys.size(), 1u) << shown(judgement);
      }
    }
  });
}

TEST_F(EveryRule, OfOneGoodValueIsBrokenWhereNoneIs) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    if (!rule.once || rule.gathered) return;
    const std::string bad = made::bad_value(*rule.once);
    const Judgement judgement = made::judged(rules, with_value(good, rule.key, bad));
    EXPECT_FALSE(judgement.passes);
    EXPECT_THAT(judgement.failing_keys, ElementsAre(rule.key)) << shown(judgement);
    const bool bad_breaks_checks =
        !rule.sets.empty() || rule.once->front().kind == mllog::rules::Condition::Kind::kHolds;
    if (bad_breaks_checks) return;
    Log both = with_value(good, rule.key, bad);
    both.insert(both.end(), good.begin(), good.end());
    EXPECT_THAT(made::judged(rules, both).failing_keys, testing::Not(Contains(rule.key)));
  });
}

TEST_F(EveryRule, OfMetadataIsBrokenWhereThatIsEmpty) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    const bool asks = std::any_of(rule.checks.begin(), rule.checks.end(), [](const Check& check) {
      return check.kind == Check::Kind::kHasAny && check.where_has.empty();
    });
    if (!asks) return;
    Log log = good;
    for (Line& line : log) {
      if (line.key == rule.key) line.metadata = "{}";
    }
    const Judgement judgement = made::judged(rules, log);
    if (is_gathered_from(rules, rule.key)) {
      EXPECT_THAT(judgement.failing_keys, Contains(rule.key)) << shown(judgement);
    } else {
      EXPECT_THAT(judgement.failing_keys, ElementsAre(rule.key)) << shown(judgement);
    }
  });
}

TEST_F(EveryRule, OfOrderIsBrokenByTheOtherOrder) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    for (const Check& check : rule.checks) {
      const bool after = check.kind == Check::Kind::kAfter;
      if (!after && check.kind != Check::Kind::kBefore) continue;
      Log log = without(good, rule.key);
      const auto own = std::find_if(good.begin(), good.end(),
                                    [&](const Line& line) { return line.key == rule.key; });
      log.insert(after ? log.begin() : log.end(), *own);
      const Judgement judgement = made::judged(rules, log);
      EXPECT_THAT(judgement.failing_keys, Contains(rule.key)) << shown(judgement);
    }
  });
}

TEST_F(EveryRule, OfTimeIsBrokenByALateRecord) {
  for_each_variant([](const Ruleset& rules, const Variant& variant, const Log& good) {
    const Rule* const rule = rules.files[0].find("init_stop");
    const auto limit = std::find_if(rule->checks.begin(), rule->checks.end(), [](const Check& one) {
      return one.kind == Check::Kind::kMinutesSince;
    });
    ASSERT_NE(limit, rule->checks.end());
    const double minutes = limit->below_minutes_in_open && variant.division == "open"
                               ? *limit->below_minutes_in_open
                               : limit->below_minutes;
    for (const double late_ms : {-1.0, 0.0}) {
      Log log = good;
      for (Line& line : log) {
        if (line.key == "init_stop") line.time_ms += minutes * 60e3 + late_ms;
      }
      const Judgement judgement = made::judged(rules, log);
      EXPECT_EQ(judgement.passes, late_ms < 0.0) << shown(judgement);
    }
  });
}

TEST_F(EveryRule, OfAlternativesIsBrokenWhereAllAreAbsent) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    if (rule.occurs.kind != Occurrence::Kind::kAtLeastOneOf) return;
    Log log = good;
    for (const std::string& key : rule.occurs.keys) log = without(log, key);
    EXPECT_THAT(made::judged(rules, log).failing_keys, Contains(rule.occurs.keys[0]));
    const Judgement one = made::judged(rules, without(good, rule.occurs.keys[1]));
    EXPECT_THAT(one.failing_keys, testing::Not(Contains(rule.occurs.keys[0]))) << shown(one);
  });
}

TEST_F(EveryRule, OfNamesIsBrokenByOneTooFewOrTooMany) {
  for_each_rule([](const Ruleset& rules, const Rule& rule, const Log& good) {
    if (!rule.exactly_these) return;
    const auto first = std::find_if(good.begin(), good.end(),
                                    [&](const Line& line) { return line.key == rule.key; });
    Log fewer = good;
    fewer.erase(fewer.begin() + (first - good.begin()));
    Log more = good;
    more.push_back(*first);
    for (const Log& log : {fewer, more}) {
      const Judgement judgement = made::judged(rules, log);
      EXPECT_FALSE(judgement.passes);
      EXPECT_THAT(judgement.failing_keys, IsEmpty()) << shown(judgement);
    }
  });
}

}  // namespace

// Formulas of rules: their syntax, and their results where Python would raise an exception.
#include "runner/mllog/rules/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/mllog/rules/answers.h"

namespace {

using made::kCannotTell;
using mllog::JsonText;
using mllog::rules::Answer;
using mllog::rules::Formula;
using mllog::rules::FormulaScope;
using mllog::rules::FormulaValue;
using testing::ElementsAre;
using testing::HasSubstr;

/// A record and the names set before it; "" for a name that was not logged.
struct Logged {
  std::string value = "null";
  std::string metadata = "{}";
  std::map<std::string, std::string> names = {};
  double time_ms = 0.0;
};

std::optional<FormulaValue> computed(const std::string& text, const Logged& logged = {}) {
  Formula formula(text, "test");
  std::vector<std::optional<FormulaValue>> names;
  std::vector<std::size_t> slots;
  for (const std::string& name : formula.names()) {
    const auto found = logged.names.find(name);
    slots.push_back(names.size());
    names.emplace_back();
    if (found != logged.names.end()) names.back() = FormulaValue::of(JsonText(found->second));
  }
  formula.bind(slots);
  return formula.compute(
      {JsonText(logged.value), JsonText(logged.metadata), logged.time_ms, &names});
}

std::optional<double> number(const std::string& text, const Logged& logged = {}) {
  const auto value = computed(text, logged);
  if (!value || value->kind != FormulaValue::Kind::kNumber) return {};
  return value->number;
}

Answer holds(const std::string& text, const Logged& logged = {}) {
  const auto value = number(text, logged);
  return value ? Answer(*value != 0.0) : kCannotTell;
}

std::string fault_of(const std::string& text) {
  try {
    const Formula formula(text, "site.json: /holds");
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Formula, BindsAsArithmeticDoes) {
  EXPECT_EQ(number("2 + 3 * 4"), 14);
  EXPECT_EQ(number("(2 + 3) * 4"), 20);
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("12 / 2 / 3"), 2);
  EXPECT_EQ(number("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(number("-2 ^ 2"), -4);
  EXPECT_EQ(number("2 ^ -1"), 0.5);
  EXPECT_EQ(number("17 % 5"), 2);
  EXPECT_EQ(number("-17 % 5"), 3) << "the sign of the divisor";
  EXPECT_EQ(number("1e-9 * 2.5e+3"), 1e-9 * 2.5e3);
}

TEST(Formula, ComparesInChains) {
  EXPECT_EQ(holds("0 <= 0.5 < 1"), Answer(true));
  EXPECT_EQ(holds("0 <= 1 < 1"), Answer(false));
  EXPECT_EQ(holds("3 > 2 >= 2 == 2 != 1"), Answer(true));
  EXPECT_EQ(holds("1 < 2 and not 2 < 1 or false"), Answer(true));
  EXPECT_EQ(holds("not 1 == 2"), Answer(true));
}

TEST(Formula, ChoosesByACondition) {
  EXPECT_EQ(number("1 if 2 > 3 else 4 if false else 5"), 5);
  EXPECT_EQ(number("(1 if true else 2) + 1"), 2);
}

TEST(Formula, SeesTheRecordAndWhatWasLoggedBefore) {
  const Logged logged{"0.0003",
                      R"({"samples_count": 9216, "metric": "FID"})",
                      {{"global_batch_size", "2304"}},
                      1500.0};
  EXPECT_EQ(holds("value == 0.0003 and time_ms == 1500", logged), Answer(true));
  EXPECT_EQ(number("metadata.samples_count / global_batch_size", logged), 4);
  EXPECT_EQ(holds("metadata.metric == 'FID'", logged), Answer(true));
  EXPECT_EQ(number("global_batch_size * 2"), std::nullopt) << "not logged so far";
  EXPECT_EQ(number("metadata.epoch_num", logged), std::nullopt);
}

TEST(Formula, LooksIntoObjectsAndLists) {
  const Logged object{R"({"BBOX": 0.38, "SEGM": 0.34})"};
  EXPECT_EQ(holds("value.BBOX >= 0.377 and value.SEGM >= 0.339", object), Answer(true));
  EXPECT_EQ(holds("has(value, 'BBOX') and not has(value, 'AP')", object), Answer(true));
  EXPECT_EQ(number("value.AP", object), std::nullopt);
  const Logged list{"[40, 50.5, [1]]"};
  EXPECT_EQ(number("value[1]", list), 50.5);
  EXPECT_EQ(number("value[-3]", list), 40);
  EXPECT_EQ(number("value[2][0]", list), 1);
  EXPECT_EQ(number("value[3]", list), std::nullopt);
  EXPECT_EQ(number("value[0.5]", list), std::nullopt);
  EXPECT_EQ(number("value[0]", object), std::nullopt);
}

TEST(Formula, RoundsAndTakesRoots) {
  EXPECT_EQ(number("ceil(2.1) + floor(2.9) + int(-2.9) + abs(-1)"), 4);
  EXPECT_EQ(number("sqrt(2.25)"), 1.5);
  EXPECT_EQ(number("min(3, 2) + max(3, 2)"), 5);
  EXPECT_EQ(holds("whole(0.08 / 0.02)"), Answer(true));
  EXPECT_EQ(holds("whole(0.5)"), Answer(false));
  EXPECT_EQ(number("int(value)", {"\" 12 \""}), 12) << "int() reads texts";
  EXPECT_EQ(number("int(value)", {"\"12.5\""}), std::nullopt);
}

TEST(Formula, TakesTruthsAsNumbersAndTellsKindsApart) {
  EXPECT_EQ(holds("value == 1", {"true"}), Answer(true));
  EXPECT_EQ(holds("value == true", {"1.0"}), Answer(true));
  EXPECT_EQ(holds("value == true", {"\"true\""}), Answer(false));
  EXPECT_EQ(holds("value == 1 or value == infinity", {"Infinity"}), Answer(true));
  EXPECT_EQ(holds("value == global_batch_size", {"null", "{}", {{"global_batch_size", "null"}}}),
            Answer(true));
  EXPECT_EQ(holds("value == 'a'", {"[\"a\"]"}), Answer(false));
}

TEST(Formula, CannotTellWherePythonRaises) {
  for (const char* const text :
       {"value * 2 == 4", "value < 4", "-value == 1", "ceil(value) == 1"}) {
    for (const char* const value : {"\"2\"", "null", "[]", "{}"}) {
      EXPECT_EQ(holds(text, {value}), kCannotTell) << text << " of " << value;
    }
  }
  EXPECT_EQ(number("1 / 0"), std::nullopt);
  EXPECT_EQ(number("1 % 0"), std::nullopt);
  EXPECT_EQ(number("sqrt(-1)"), std::nullopt);
  EXPECT_EQ(number("(-2) ^ 0.5"), std::nullopt) << "a complex number";
  EXPECT_EQ(number("0 ^ -1"), std::nullopt);
  EXPECT_EQ(number("10 ^ 400"), std::nullopt);
  EXPECT_EQ(number("floor(infinity)"), std::nullopt);
  EXPECT_EQ(number("whole(value)", {"NaN"}), std::nullopt);
}

TEST(Formula, LooksAtNoMoreThanIsNeeded) {
  EXPECT_EQ(holds("true or value > 1"), Answer(true));
  EXPECT_EQ(holds("false and value > 1"), Answer(false));
  EXPECT_EQ(holds("value > 1 or true"), kCannotTell);
  EXPECT_EQ(number("1 if true else value * 2"), 1);
}

TEST(Formula, KeepsLists) {
  const auto list = computed("append(append(times, 3), 4.5)", {"null", "{}", {{"times", "[]"}}});
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, FormulaValue::of(JsonText("[3.0, 4.5]")));
}

TEST(Formula, NamesWhatItRefersTo) {
  EXPECT_THAT(Formula("b * value + a / b - metadata.c", "test").names(), ElementsAre("b", "a"));
}

TEST(Formula, IsRefusedWithTheColumn) {
  EXPECT_THAT(fault_of("value =="),
              HasSubstr("site.json: /holds: formula \"value ==\", column 9: expected a number"));
  EXPECT_THAT(fault_of("(1 + 2"), HasSubstr("column 7: expected ), found the end"));
  EXPECT_THAT(fault_of("1 2"), HasSubstr("column 3: expected an operator"));
  EXPECT_THAT(fault_of("round(1)"), HasSubstr("a known function, not round"));
  EXPECT_THAT(fault_of("min(1)"), HasSubstr("2 operands of min"));
  EXPECT_THAT(fault_of("1 if 2"), HasSubstr("expected else"));
  EXPECT_THAT(fault_of("value."), HasSubstr("name of a member"));
  EXPECT_THAT(fault_of("'open"), HasSubstr("ends with '"));
  EXPECT_THAT(fault_of("and 1"), HasSubstr("before and"));
  EXPECT_THAT(fault_of("1 = 1"), HasSubstr("expected an operator"));
  EXPECT_THAT(fault_of(std::string(100, '(')), HasSubstr("fewer parentheses"));
  EXPECT_THAT(fault_of(std::string(3000, ' ')), HasSubstr("at most"));
}

TEST(Assignment, NamesWhatItSets) {
  const auto set = mllog::rules::parse_assignment("last_epoch = metadata.epoch_num", "test");
  EXPECT_EQ(set.name, "last_epoch");
  EXPECT_EQ(set.formula.text(), "metadata.epoch_num");
  EXPECT_EQ(set.text(), "last_epoch = metadata.epoch_num");
  for (const char* const text : {"last_epoch", "= 1", "a == 1", "1 = 1", "a b = 1", "a ="}) {
    EXPECT_THROW(mllog::rules::parse_assignment(text, "test"), base::ConfigError) << text;
  }
}

}  // namespace

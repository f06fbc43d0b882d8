// Conditions on values, with Python's semantics.
#include "runner/mllog/rules/predicate.h"

#include <gtest/gtest.h>

#include <string>

#include "runner/mllog/python_json.h"
#include "runner/mllog/rules/answers.h"

namespace {

using made::kCannotTell;
using mllog::JsonText;
using mllog::rules::Answer;
using mllog::rules::Condition;
using mllog::rules::Formula;
using mllog::rules::Predicate;
using Kind = Condition::Kind;

Answer asked(Kind kind, double number, const std::string& value) {
  return holds(Predicate{{kind, number, {}, {}}}, JsonText(value));
}

bool equal(const std::string& one, const std::string& other) {
  return mllog::rules::python_equal(JsonText(one), JsonText(other));
}

TEST(Equality, TakesOneAsOneHoweverItIsWritten) {
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("1", "true"));
  EXPECT_TRUE(equal("0", "false"));
  EXPECT_TRUE(equal("1e2", "100"));
  EXPECT_TRUE(equal("[1, 2]", "[1.0, 2.0]"));
  EXPECT_TRUE(equal(R"({"a": 1, "b": true})", R"({"b": 1.0, "a": 1})"));
  EXPECT_TRUE(equal(R"("a")", R"("\u0061")"));
  EXPECT_TRUE(equal("NaN", "NaN")) << "one object in Python's json";
}

TEST(Equality, TellsKindsAndLargeIntegersApart) {
  EXPECT_FALSE(equal("1", "\"1\""));
  EXPECT_FALSE(equal("0", "null"));
  EXPECT_FALSE(equal("[]", "{}"));
  EXPECT_FALSE(equal("[1]", "[1, 1]"));
  EXPECT_FALSE(equal(R"({"a": 1})", R"({"b": 1})"));
  EXPECT_FALSE(equal("9007199254740993", "9007199254740992.0"));
  EXPECT_FALSE(equal("100000000000000000000000000001", "100000000000000000000000000002"));
}

TEST(Comparison, TakesTruthsAsNumbers) {
  EXPECT_EQ(asked(Kind::kAbove, 0, "true"), Answer(true));
  EXPECT_EQ(asked(Kind::kAbove, 0, "false"), Answer(false));
  EXPECT_EQ(asked(Kind::kEquals, 1, "true"), Answer(true));
}

TEST(Comparison, CannotTellOfWhatIsNoNumber) {
  for (const char* value : {"\"256\"", "null", "[]", "{}"}) {
    EXPECT_EQ(asked(Kind::kAbove, 0, value), kCannotTell) << value;
    EXPECT_EQ(asked(Kind::kCloseTo, 1e-6, value), kCannotTell) << value;
    EXPECT_EQ(asked(Kind::kMultipleOf, 0.001, value), kCannotTell) << value;
  }
}

TEST(Comparison, IsFalseOfNaN) {
  EXPECT_EQ(asked(Kind::kAbove, 0, "NaN"), Answer(false));
  EXPECT_EQ(asked(Kind::kAtMost, 0, "NaN"), Answer(false));
  EXPECT_EQ(asked(Kind::kAtMost, 0, "-Infinity"), Answer(true));
}

TEST(Comparison, KeepsItsBounds) {
  EXPECT_EQ(asked(Kind::kAbove, 0.5, "0.5"), Answer(false));
  EXPECT_EQ(asked(Kind::kAtLeast, 0.5, "0.5"), Answer(true));
  EXPECT_EQ(asked(Kind::kBelow, 0.5, "0.5"), Answer(false));
  EXPECT_EQ(asked(Kind::kAtMost, 0.5, "0.5"), Answer(true));
}

TEST(EqualityToARule, NeverFailsToTell) {
  EXPECT_EQ(asked(Kind::kEquals, 15158, "\"15158\""), Answer(false));
  EXPECT_EQ(asked(Kind::kEquals, 15158, "15158.0"), Answer(true));
  EXPECT_EQ(asked(Kind::kEquals, 0, "null"), Answer(false));
  const Predicate one_of{{Kind::kOneOfTexts, 0, {}, {"sgd", "lars"}}};
  EXPECT_EQ(holds(one_of, JsonText("\"lars\"")), Answer(true));
  EXPECT_EQ(holds(one_of, JsonText("\"LARS\"")), Answer(false));
  EXPECT_EQ(holds(one_of, JsonText("3")), Answer(false));
  const Predicate not_empty{{Kind::kNotText, 0, {}, {""}}};
  EXPECT_EQ(holds(not_empty, JsonText("\"\"")), Answer(false));
  EXPECT_EQ(holds(not_empty, JsonText("null")), Answer(true));
  EXPECT_EQ(holds(not_empty, JsonText("0")), Answer(true));
}

TEST(Length, CountsCharactersItemsAndMembers) {
  EXPECT_EQ(asked(Kind::kLength, 2, "[0.9, 0.999]"), Answer(true));
  EXPECT_EQ(asked(Kind::kLength, 2, "[0.9]"), Answer(false));
  EXPECT_EQ(asked(Kind::kLength, 2, "\"ab\""), Answer(true));
  EXPECT_EQ(asked(Kind::kLength, 2, R"("\u00e9\n")"), Answer(true));
  EXPECT_EQ(asked(Kind::kLength, 1, R"("\ud83d\ude00")"), Answer(true));
  EXPECT_EQ(asked(Kind::kLength, 2, "\"\xc3\xa9\""), Answer(true)) << "read as latin-1";
  EXPECT_EQ(asked(Kind::kLength, 1, R"({"a": 1, "a": 2})"), Answer(true));
  EXPECT_EQ(asked(Kind::kLengthAtLeast, 0, "5"), kCannotTell);
}

TEST(Closeness, AllowsABillionth) {
  EXPECT_EQ(asked(Kind::kCloseTo, 1e-6, "1.0000000001e-06"), Answer(true));
  EXPECT_EQ(asked(Kind::kCloseTo, 1e-6, "1.00000001e-06"), Answer(false));
  EXPECT_EQ(asked(Kind::kCloseTo, 1e-6, "Infinity"), Answer(false));
}

TEST(Multiples, AllowAHundredThousandth) {
  EXPECT_EQ(asked(Kind::kMultipleOf, 0.001, "0.8"), Answer(true));
  EXPECT_EQ(asked(Kind::kMultipleOf, 0.001, "0.8000001"), Answer(false));
  EXPECT_EQ(asked(Kind::kMultipleOf, 0.001, "0.800000005"), Answer(true));
  EXPECT_EQ(asked(Kind::kMultipleOf, 0.001, "Infinity"), kCannotTell);
  EXPECT_EQ(asked(Kind::kMultipleOf, 1, "2.5"), Answer(false));
}

TEST(PowersOfTwo, AreToldByTheirLogarithm) {
  EXPECT_EQ(asked(Kind::kPowerOfTwoTimes, 0.0001, "0.0002"), Answer(true));
  EXPECT_EQ(asked(Kind::kPowerOfTwoTimes, 0.0001, "5e-05"), Answer(true));
  EXPECT_EQ(asked(Kind::kPowerOfTwoTimes, 0.0001, "0.0003"), Answer(false));
  EXPECT_EQ(asked(Kind::kPowerOfTwoTimes, 0.0001, "0"), kCannotTell);
  EXPECT_EQ(asked(Kind::kPowerOfTwoTimes, 0.0001, "-0.0001"), kCannotTell);
}

TEST(Truth, IsPythons) {
  for (const char* value : {"true", "1", "-0.5", "NaN", "\"false\"", "[0]", R"({"a": 0})"}) {
    EXPECT_EQ(asked(Kind::kTrue, 0, value), Answer(true)) << value;
  }
  for (const char* value : {"false", "0", "0.0", "null", "\"\"", "[]", "{}"}) {
    EXPECT_EQ(asked(Kind::kTrue, 0, value), Answer(false)) << value;
  }
}

TEST(Membership, LooksIntoObjectsListsAndTexts) {
  using mllog::rules::python_contains;
  EXPECT_EQ(python_contains(JsonText(R"({"status": null})"), "status"), Answer(true));
  EXPECT_EQ(python_contains(JsonText("{}"), "status"), Answer(false));
  EXPECT_EQ(python_contains(JsonText(R"(["status"])"), "status"), Answer(true));
  EXPECT_EQ(python_contains(JsonText(R"("my status")"), "status"), Answer(true));
  EXPECT_EQ(python_contains(JsonText("null"), "status"), kCannotTell);
  EXPECT_EQ(python_contains(JsonText("3"), "status"), kCannotTell);
}

TEST(Kinds, AreToldByHowAValueIsWritten) {
  for (const char* value : {"6", "-6", "true", "100000000000000000000000"}) {
    EXPECT_EQ(asked(Kind::kInteger, 0, value), Answer(true)) << value;
  }
  for (const char* value : {"6.0", "6e0", "\"6\"", "NaN", "null", "[6]"}) {
    EXPECT_EQ(asked(Kind::kInteger, 0, value), Answer(false)) << value;
  }
  EXPECT_EQ(asked(Kind::kBoolean, 0, "false"), Answer(true));
  EXPECT_EQ(asked(Kind::kBoolean, 0, "1"), Answer(false));
}

TEST(Members, MustAllBeThere) {
  const Predicate has{{Kind::kHas, 0, {}, {"BBOX", "SEGM"}}};
  EXPECT_EQ(holds(has, JsonText(R"({"SEGM": 1, "BBOX": null})")), Answer(true));
  EXPECT_EQ(holds(has, JsonText(R"({"SEGM": 1})")), Answer(false));
  EXPECT_EQ(holds(has, JsonText("0.5")), kCannotTell);
  EXPECT_EQ(words(has), "an object with BBOX and SEGM");
}

TEST(Formulas, SeeTheValueAtHandAndWhatElseTheyAreGiven) {
  const Predicate one{{Kind::kHolds, 0, {}, {}, Formula("value < metadata.limit", "test")}};
  mllog::rules::FormulaScope others;
  others.value = JsonText("7");
  others.metadata = JsonText(R"({"limit": 3})");
  EXPECT_EQ(holds(one, JsonText("2"), others), Answer(true));
  EXPECT_EQ(holds(one, JsonText("3"), others), Answer(false));
  EXPECT_EQ(holds(one, JsonText("2")), kCannotTell);
  EXPECT_EQ(words(one), "such that value < metadata.limit");
}

TEST(Predicates, HoldWhereAllConditionsDo) {
  const Predicate between{{Kind::kAbove, 0, {}, {}}, {Kind::kAtMost, 0.124, {}, {}}};
  EXPECT_EQ(holds(between, JsonText("0.124")), Answer(true));
  EXPECT_EQ(holds(between, JsonText("0.1241")), Answer(false));
  EXPECT_EQ(holds(between, JsonText("0")), Answer(false));
  EXPECT_EQ(words(between), "above 0 and at most 0.124");
}

}  // namespace

// ObjectReader: kinds, ranges, unknown keys, and the record of what was read.
#include "runner/base/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace base {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

ObjectReader reader(const char* text) { return ObjectReader(Json::parse(text), "small.json"); }

template <class Call>
std::string refusal(Call&& call) {
  return thrown_message<ConfigError>(call);
}

TEST(ObjectReader, ReadsEveryKind) {
  const ObjectReader in = reader(R"({"b": true, "i": -3, "u": 18446744073709551615, "d": 2,
      "s": "text", "vi": [1, 2], "vd": [1, 0.5], "vs": ["x"]})");
  EXPECT_TRUE(in.required<bool>("b", "h"));
  EXPECT_EQ(in.required<std::int64_t>("i", "h"), -3);
  EXPECT_EQ(in.required<std::uint64_t>("u", "h"), 18446744073709551615u);
  EXPECT_EQ(in.required<double>("d", "h"), 2.0);
  EXPECT_EQ(in.required<std::string>("s", "h"), "text");
  EXPECT_EQ(in.required<std::vector<std::int64_t>>("vi", "h"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(in.required<std::vector<double>>("vd", "h"), (std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(in.required<std::vector<std::string>>("vs", "h"), (std::vector<std::string>{"x"}));
  EXPECT_NO_THROW(in.reject_unknown());
}

TEST(ObjectReader, TakesNoFractionForAnInteger) {
  EXPECT_EQ(refusal([] { reader(R"({"n": 64.7})").required<std::int64_t>("n", "h"); }),
            "small.json: /n: must be an integer of 64 bits, got 64.7");
  EXPECT_THROW(reader(R"({"n": 64.0})").required<std::int64_t>("n", "h"), ConfigError);
  EXPECT_THROW(reader(R"({"n": 64.0})").required<std::uint64_t>("n", "h"), ConfigError);
}

TEST(ObjectReader, KeepsIntegersWithinTheirWidth) {
  const ObjectReader in =
      reader(R"({"max": 9223372036854775807, "over": 9223372036854775808, "minus": -1,
                 "beyond": 18446744073709551616})");
  EXPECT_EQ(in.required<std::int64_t>("max", "h"), std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(in.required<std::int64_t>("over", "h"), ConfigError);
  EXPECT_EQ(in.required<std::uint64_t>("over", "h"), 9223372036854775808u);
  EXPECT_THROW(in.required<std::uint64_t>("minus", "h"), ConfigError);
  EXPECT_THROW(in.required<std::uint64_t>("beyond", "h"), ConfigError);
}

TEST(ObjectReader, RefusesTheWrongKind) {
  const ObjectReader in = reader(R"({"s": "5", "n": 5, "b": 1, "nothing": null, "a": [1, "2"]})");
  EXPECT_EQ(refusal([&] { in.required<double>("s", "h"); }),
            "small.json: /s: must be a finite number, got \"5\"");
  EXPECT_EQ(refusal([&] { in.required<std::string>("n", "h"); }),
            "small.json: /n: must be a string, got 5");
  EXPECT_EQ(refusal([&] { in.required<bool>("b", "h"); }),
            "small.json: /b: must be true or false, got 1");
  EXPECT_THROW(in.optional<double>("nothing", 1.0, "h"), ConfigError);
  EXPECT_EQ(refusal([&] { in.required<std::vector<std::int64_t>>("a", "h"); }),
            "small.json: /a/1: must be an integer of 64 bits, got \"2\"");
  EXPECT_THROW(in.required<std::vector<double>>("n", "h"), ConfigError);
}

TEST(ObjectReader, RefusesNumbersThatAreNotFinite) {
  Json object;
  object["nan"] = std::numeric_limits<double>::quiet_NaN();
  object["inf"] = std::numeric_limits<double>::infinity();
  const ObjectReader in(object, "small.json");
  EXPECT_THROW(in.required<double>("nan", "h"), ConfigError);
  EXPECT_THROW(in.required<double>("inf", "h"), ConfigError);
}

TEST(ObjectReader, HoldsValuesToTheirCheck) {
  const ObjectReader in = reader(R"({"optimizer": {"learning_rate": -1}, "n": 3, "name": ""})");
  EXPECT_EQ(refusal([&] {
              in.object("optimizer", "h").required<double>("learning_rate", "h", positive());
            }),
            "small.json: /optimizer/learning_rate: must be positive, got -1.0");
  EXPECT_THROW(in.optional<std::int64_t>("n", 4, "h", at_least(4)), ConfigError);
  EXPECT_EQ(in.optional<std::int64_t>("n", 4, "h", within(3, 4)), 3);
  EXPECT_THROW(in.optional<std::int64_t>("n", 4, "h", within(4, 5)), ConfigError);
  EXPECT_THROW(in.required<std::string>("name", "h", not_empty()), ConfigError);
  EXPECT_EQ(refusal([&] { in.optional<double>("n", 0.5, "h", between(0, 1)); }),
            "small.json: /n: must be between 0 and 1, got 3.0");
}

TEST(ObjectReader, RefusesPathsThatOnlyAShellExpands) {
  for (const char* const path : {"~", "~/train", "$SCRATCH/train", "/data/${USER}/train", ""}) {
    EXPECT_FALSE(whole_path().holds(path)) << path;
  }
  for (const char* const path : {"/data/train", "train~", "a/~b", "cost$", "1$5", "~user-files"}) {
    EXPECT_TRUE(whole_path().holds(path)) << path;
  }
}

TEST(ObjectReader, RefusesADefaultThatFailsItsOwnCheck) {
  EXPECT_EQ(thrown_message<Error>([] { reader("{}").optional<double>("x", 0.0, "h", positive()); }),
            "small.json: /x: its default fails its own check: must be positive, got 0.0");
}

TEST(ObjectReader, NamesARequiredKeyThatIsAbsent) {
  EXPECT_EQ(refusal([] { reader("{}").required<std::int64_t>("epochs", "epochs to train"); }),
            "small.json: /epochs: is required (epochs to train): must be an integer of 64 bits, "
            "but is absent");
  EXPECT_EQ(refusal([] {
              reader(R"({"epoch": 3, "seed": 1})").required<std::int64_t>("epochs", "to train");
            }),
            "small.json: /epochs: is required (to train): must be an integer of 64 bits, but is "
            "absent; is it \"epoch\"?");
}

TEST(ObjectReader, NamesTheNearestKeyOfATypo) {
  const ObjectReader in = reader(R"({"optimizer": {"learnin_rate": 0.1}})");
  in.object("optimizer", "h").optional<double>("learning_rate", 0.1, "h");
  EXPECT_EQ(refusal([&] { in.reject_unknown(); }),
            "small.json: /optimizer/learnin_rate: unknown key; did you mean \"learning_rate\"?");
}

TEST(ObjectReader, ListsTheKnownKeysWhereNoneIsNear) {
  const ObjectReader in = reader(R"({"zzz": 1})");
  in.optional<bool>("alpha", true, "h");
  in.optional<bool>("beta", true, "h");
  EXPECT_EQ(refusal([&] { in.reject_unknown(); }),
            "small.json: /zzz: unknown key; known here: alpha, beta");
}

TEST(ObjectReader, RefusesKeysBelowAnObjectThatNobodyOpened) {
  const ObjectReader in = reader(R"({"a": {"b": 1}})");
  EXPECT_EQ(refusal([&] { in.reject_unknown(); }), "small.json: /a: unknown key");
  in.object("a", "h");
  EXPECT_EQ(refusal([&] { in.reject_unknown(); }), "small.json: /a/b: unknown key");
}

TEST(ObjectReader, ReadsAnAbsentObjectAsEmpty) {
  const ObjectReader in = reader("{}");
  EXPECT_FALSE(in.has("optimizer"));
  EXPECT_EQ(in.object("optimizer", "h").optional<double>("x", 2.5, "h"), 2.5);
  EXPECT_THROW(in.object("optimizer", "h").required<double>("y", "h"), ConfigError);
  EXPECT_EQ(in.resolved(), Json::parse(R"({"optimizer": {"x": 2.5}})"));
}

TEST(ObjectReader, RefusesAnotherKindInPlaceOfAnObject) {
  EXPECT_EQ(refusal([] { reader(R"({"a": [1]})").object("a", "h"); }),
            "small.json: /a: must be an object, got [1]");
  EXPECT_EQ(refusal([] { reader("[]"); }), "small.json: must be a JSON object, got []");
}

enum class Color { kRed, kGreen };
const std::vector<std::pair<std::string, Color>> kColors = {{"red", Color::kRed},
                                                            {"green", Color::kGreen}};

TEST(ObjectReader, ReadsTheObjectsOfAnArray) {
  const ObjectReader in = reader(R"({"parts": [{"n": 1}, {"n": 2}]})");
  std::int64_t sum = 0;
  for (const ObjectReader& part : in.objects("parts", "h"))
    sum += part.required<std::int64_t>("n", "h");
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(in.objects("absent", "h").empty());
  EXPECT_EQ(in.resolved(), Json::parse(R"({"parts": [{"n": 1}, {"n": 2}], "absent": []})"));
  EXPECT_EQ(in.schema()["properties"]["parts"]["items"]["properties"].count("n"), 1u);
  EXPECT_NO_THROW(in.reject_unknown());
}

TEST(ObjectReader, NamesThePlaceOfAnObjectInAnArray) {
  const ObjectReader in = reader(R"({"parts": [{"n": 1}, {"typo": 2}], "bad": [3], "no": {}})");
  const std::vector<ObjectReader> parts = in.objects("parts", "h");
  EXPECT_THAT(refusal([&] { parts[1].required<std::int64_t>("n", "h"); }), HasSubstr("/parts/1/n"));
  parts[0].required<std::int64_t>("n", "h");
  EXPECT_THAT(refusal([&] { in.reject_unknown(); }), HasSubstr("unknown key"));
  EXPECT_EQ(refusal([&] { in.objects("bad", "h"); }),
            "small.json: /bad/0: must be an object, got 3");
  EXPECT_EQ(refusal([&] { in.objects("no", "h"); }),
            "small.json: /no: must be an array of objects, got {}");
}

TEST(ObjectReader, ReadsAChoice) {
  const ObjectReader in = reader(R"({"c": "green"})");
  EXPECT_EQ(in.choice("c", Color::kRed, kColors, "h"), Color::kGreen);
  EXPECT_EQ(in.choice("other", Color::kRed, kColors, "h"), Color::kRed);
  EXPECT_EQ(in.resolved(), Json::parse(R"({"c": "green", "other": "red"})"));
}

TEST(ObjectReader, RefusesAValueThatIsNoChoice) {
  EXPECT_EQ(refusal([] { reader(R"({"c": "gren"})").choice("c", Color::kRed, kColors, "h"); }),
            "small.json: /c: must be one of red, green, got \"gren\"; did you mean \"green\"?");
  EXPECT_EQ(refusal([] { reader(R"({"c": 1})").choice("c", Color::kRed, kColors, "h"); }),
            "small.json: /c: must be one of red, green, got 1");
}

TEST(ObjectReader, RecordsWhatWasReadWithItsDefaults) {
  const ObjectReader in = reader(R"({"seed": 18446744073709551615, "n": 7})");
  in.required<std::uint64_t>("seed", "h");
  in.optional<std::int64_t>("n", 1, "h");
  in.optional<std::vector<double>>("milestones", {0.5}, "h");
  const Json resolved = in.resolved();
  EXPECT_EQ(resolved,
            Json::parse(R"({"seed": 18446744073709551615, "n": 7, "milestones": [0.5]})"));
  EXPECT_EQ(ObjectReader(resolved, "again").required<std::uint64_t>("seed", "h"),
            18446744073709551615u);
}

TEST(ObjectReader, DescribesWhatItAskedForAsASchema) {
  const ObjectReader in = reader(R"({"epochs": 3})");
  in.required<std::int64_t>("epochs", "epochs to train", at_least(1));
  in.object("optimizer", "the optimizer").optional<double>("lr", 0.1, "rate");
  in.choice("color", Color::kRed, kColors, "a color");
  EXPECT_EQ(in.schema(), Json::parse(R"json({
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object", "additionalProperties": false, "required": ["epochs"],
    "properties": {
      "epochs": {"type": "integer", "description": "epochs to train (must be at least 1)"},
      "color": {"type": "string", "enum": ["red", "green"], "default": "red",
                "description": "a color"},
      "optimizer": {"type": "object", "additionalProperties": false,
                    "description": "the optimizer",
                    "properties": {"lr": {"type": "number", "default": 0.1,
                                          "description": "rate"}}}}})json"));
}

TEST(ObjectReader, RequiresAnObjectThatHoldsARequiredKey) {
  const ObjectReader in = reader(R"({"a": {"b": 1}})");
  in.object("a", "h").required<double>("b", "h");
  EXPECT_EQ(in.schema()["required"], Json::parse(R"(["a"])"));
}

TEST(ObjectReader, EscapesKeysInPaths) {
  EXPECT_EQ(reader("{}").where("a/b~c"), "small.json: /a~1b~0c");
  EXPECT_EQ(reader("{}").where(), "small.json");
  EXPECT_EQ(reader("{}").object("a", "h").where(), "small.json: /a");
}

TEST(ObjectReader, ShortensLongValuesInMessages) {
  const ObjectReader in(Json{{"n", std::string(10000, 'x')}}, "small.json");
  EXPECT_LT(refusal([&] { in.required<double>("n", "h"); }).size(), 150u);
}

TEST(NearestName, FindsSmallSlipsOnly) {
  const std::vector<std::string> names = {"learning_rate", "momentum", "epochs", "bs"};
  EXPECT_EQ(nearest_name("learnin_rate", names), "learning_rate");
  EXPECT_EQ(nearest_name("epohcs", names), "epochs");
  EXPECT_EQ(nearest_name("momentun", names), "momentum");
  EXPECT_EQ(nearest_name("weight_decay", names), "");
  EXPECT_EQ(nearest_name("lr", names), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace
}  // namespace base

// Reads the conditions of a rule on a value.
#include "runner/mllog/rules/predicate_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"

namespace mllog::rules {
namespace {

using base::ConfigError;
using base::ObjectReader;
using Texts = std::vector<std::string>;

/// Of a list.
constexpr auto kNotEmpty = [](const auto& list) { return !list.empty(); };

void add_number(const ObjectReader& in, const char* key, Condition::Kind kind, Predicate& to) {
  if (!in.has(key)) return;
  const bool divides =
      kind == Condition::Kind::kMultipleOf || kind == Condition::Kind::kPowerOfTwoTimes;
  Condition condition{kind, 0.0, {}, {}};
  condition.number =
      in.required<double>(key, "a number", divides ? base::positive() : base::Check<double>());
  to.push_back(std::move(condition));
}

void add_texts(const ObjectReader& in, Predicate& to) {
  using enum Condition::Kind;
  if (in.has("equals_text")) {
    to.push_back({kOneOfTexts, 0.0, {}, {in.required<std::string>("equals_text", "a text")}});
  }
  if (in.has("not_text")) {
    to.push_back({kNotText, 0.0, {}, {in.required<std::string>("not_text", "a text")}});
  }
  if (in.has("one_of")) {
    to.push_back({kOneOfTexts,
                  0.0,
                  {},
                  in.required<Texts>("one_of", "texts", {"must not be empty", kNotEmpty})});
  }
  if (in.has("one_of_numbers")) {
    to.push_back({kOneOfNumbers,
                  0.0,
                  in.required<std::vector<double>>("one_of_numbers", "numbers",
                                                   {"must not be empty", kNotEmpty}),
                  {}});
  }
}

void add_forms(const ObjectReader& in, Predicate& to) {
  using enum Condition::Kind;
  if (in.has("kind")) {
    const auto kind = in.choice<Condition::Kind>(
        "kind", kTrue, {{"boolean", kBoolean}, {"integer", kInteger}}, "of JSON value");
    to.push_back({kind, 0.0, {}, {}});
  }
  if (in.has("has")) {
    to.push_back(
        {kHas,
         0.0,
         {},
         in.required<Texts>("has", "members of an object", {"must not be empty", kNotEmpty})});
  }
  if (in.has("holds")) to.push_back(read_formula(in));
}

void add_truths(const ObjectReader& in, Predicate& to) {
  const base::Check<bool> is_true{"must be true", [](bool value) { return value; }};
  for (const auto& [key, kind] : {std::pair("true", Condition::Kind::kTrue),
                                  {"target", Condition::Kind::kTarget},
                                  {"benchmark_of_round", Condition::Kind::kBenchmarkOfRound}}) {
    if (!in.has(key)) continue;
    in.required<bool>(key, "asks for it", is_true);
    to.push_back({kind, 0.0, {}, {}});
  }
}

}  // namespace

Condition read_formula(const ObjectReader& in) {
  const auto text = in.required<std::string>("holds", "a formula", base::not_empty());
  return {Condition::Kind::kHolds, 0.0, {}, {}, Formula(text, in.where("holds"))};
}

Predicate read_predicate(const ObjectReader& in) {
  using enum Condition::Kind;
  Predicate predicate;
  for (const auto& [key, kind] : {std::pair("above", kAbove),
                                  {"at_least", kAtLeast},
                                  {"below", kBelow},
                                  {"at_most", kAtMost},
                                  {"equals", kEquals},
                                  {"length", kLength},
                                  {"length_at_least", kLengthAtLeast},
                                  {"close_to", kCloseTo},
                                  {"multiple_of", kMultipleOf},
                                  {"power_of_two_times", kPowerOfTwoTimes}}) {
    add_number(in, key, kind, predicate);
  }
  add_texts(in, predicate);
  add_truths(in, predicate);
  add_forms(in, predicate);
  in.reject_unknown();
  if (predicate.empty()) throw ConfigError(in.where() + ": must hold a condition, is empty");
  return predicate;
}

}  // namespace mllog::rules

// Rules as text.
#include "runner/mllog/rules/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mllog::rules {
namespace {

std::string minutes(const Check& check) {
  std::string limit = fmt::format("{}", check.below_minutes);
  if (check.below_minutes_in_open) {
    limit += fmt::format(" (open division: {}; before submission_division is logged: 0)",
                         *check.below_minutes_in_open);
  }
  return fmt::format("must come less than {} minutes after the earliest {}", limit, check.names[0]);
}

std::string phrase(const Check& check) {
  switch (check.kind) {
    case Check::Kind::kValue:
      return "must be " + words(check.predicate);
    case Check::Kind::kMember:
      return fmt::format("metadata.{} must be {}", check.names[0], words(check.predicate));
    case Check::Kind::kHasAny:
      return fmt::format("metadata must have {}", fmt::join(check.names, " or "));
    case Check::Kind::kAfter:
      return "must come after " + check.names[0];
    case Check::Kind::kBefore:
      return "must come before any " + check.names[0];
    default:
      return minutes(check);
  }
}

std::string words(const Then& then) {
  const std::string value = then.where.empty() ? "its value" : "\"" + then.where + "\"";
  return fmt::format("{} chooses the rules of {}{}", value, then.file,
                     then.lower_case ? " (in lower case)" : "");
}

}  // namespace

std::string words(const Check& check) {
  if (check.where_has.empty()) return phrase(check);
  return fmt::format("where metadata has {}, {}", check.where_has, phrase(check));
}

std::string words(const Occurrence& occurs) {
  switch (occurs.kind) {
    case Occurrence::Kind::kExactlyOne:
      return "exactly one record (repetitions of one value are forgiven)";
    case Occurrence::Kind::kAtLeast:
      return occurs.times == 1 ? "at least one record"
                               : fmt::format("at least {} records", occurs.times);
    case Occurrence::Kind::kAtLeastOneOf:
      return fmt::format("at least one record of {}", fmt::join(occurs.keys, " or "));
    case Occurrence::Kind::kOptional:
      return "may be absent";
    default:
      return "";
  }
}

std::vector<std::string> words(const Rule& rule) {
  std::vector<std::string> list;
  if (const std::string occurs = words(rule.occurs); !occurs.empty()) list.push_back(occurs);
  if (rule.gathered) {
    list.push_back(
        fmt::format("made of the records of {} whose metadata has {}: for each {} an "
                    "object of their values by {}, and {}",
                    rule.gathered->from, rule.gathered->part, rule.gathered->position,
                    rule.gathered->part, rule.gathered->position));
  }
  for (const Check& check : rule.checks) list.push_back(words(check));
  for (const Assignment& set : rule.sets) list.push_back("sets " + set.text());
  for (const Check& check : rule.first_checks) list.push_back("the first " + words(check));
  if (rule.once) list.push_back("at least one must be " + words(*rule.once));
  if (rule.exactly_these) {
    list.push_back(fmt::format("metadata.{} of all records: these {} names, each once: {}",
                               rule.exactly_these->member, rule.exactly_these->names.size(),
                               fmt::join(rule.exactly_these->names, ", ")));
  }
  if (rule.then) list.push_back(words(*rule.then));
  if (list.empty()) list.emplace_back("any number of records, any value");
  return list;
}

}  // namespace mllog::rules

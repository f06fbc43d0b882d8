// Any bytes as a file of rules, alone and over the program's own: a ConfigError, or rules that can be
// applied, put in words and kept.
// Hides a log that most rules look at.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "runner/base/error.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/judge.h"
#include "runner/mllog/rules/rule_book.h"
#include "runner/mllog/rules/words.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr char kLog[] =
    ":::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"closed\"}\n"
    ":::MLLOG {\"time_ms\": 2, \"key\": \"seed\", \"value\": [1, \"x\", null], \"metadata\": "
    "{\"tensor\": \"a1\", \"epoch_num\": 3}}\n"
    ":::MLLOG {\"time_ms\": 9e12, \"key\": \"run_stop\", \"value\": -0.5, \"metadata\": {}}\n";

void apply(const mllog::rules::Ruleset& ruleset) {
  std::istringstream in(kLog);
  mllog::RecordReader reader(in);
  mllog::rules::Judge judge(ruleset);
  while (const auto item = reader.next()) {
    std::visit([&](const auto& one) { judge.add(one); }, *item);
  }
  judge.judgement();
  for (const auto& file : ruleset.files) {
    for (const auto& rule : file.rules) mllog::rules::words(rule);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_strict_json(text, "fuzz.json", base::JsonComments::kAllowed);
    const mllog::rules::RuleBook book({mllog::rules::read_rules(json, "fuzz.json")});
    for (const auto& round : book.rounds()) {
      if (!round.no_rules_because.empty()) continue;
      try {
        apply(book.ruleset(round));
      } catch (const base::ConfigError&) {
      }
    }
  } catch (const base::ConfigError&) {
  }
  return 0;
}

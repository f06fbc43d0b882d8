// Arbitrary bytes as a rule file, alone and over the program's own: a ConfigError, or rules that
// can be applied, put in words and copied.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/embedded_rules.h"
#include "runner/mllog/rules/judge.h"
#include "runner/mllog/rules/rule_book.h"
#include "runner/mllog/rules/words.h"

namespace {

using mllog::rules::RuleDocument;

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

RuleDocument read(const std::string& text, const std::string& name) {
  return mllog::rules::read_rules(base::parse_strict_json(text, name, base::JsonComments::kAllowed),
                                  name);
}

/// The HPC rules, as HPC has few rounds.
const std::vector<RuleDocument>& own_rules() {
  static const std::vector<RuleDocument> all = [] {
    std::vector<RuleDocument> documents;
    for (const base::EmbeddedFile& file : mllog::rules::embedded_rules()) {
      if (!file.name.starts_with("hpc/")) continue;
      documents.push_back(read(std::string(file.text), std::string(file.name)));
    }
    return documents;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<RuleDocument> documents;
  if (text.starts_with('+')) {
    documents = own_rules();
    text.erase(0, 1);
  }
  try {
    documents.push_back(read(text, "fuzz.json"));
    const mllog::rules::RuleBook book(std::move(documents));
    for (const auto& round : book.rounds()) {
      if (!round.no_rules_because.empty()) continue;
      try {
        apply(book.ruleset(round));
      } catch (const base::ConfigError&) {
      }
    }
  } catch (const base::DataError&) {
  } catch (const base::ConfigError&) {
  }
  return 0;
}

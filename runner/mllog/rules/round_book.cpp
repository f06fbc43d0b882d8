// The embedded rounds without their rules.
// Hides that rules are left unread.
#include "runner/mllog/rules/round_book.h"

#include <nlohmann/json.hpp>

#include "runner/base/strict_json.h"
#include "runner/mllog/rules/embedded_rules.h"

namespace mllog::rules {

const RuleBook& round_book() {
  static const RuleBook book = [] {
    std::vector<RuleDocument> documents;
    for (const base::EmbeddedFile& file : embedded_rules()) {
      if (!file.name.ends_with("rounds.json")) continue;
      const std::string name = "rules/" + std::string(file.name);
      documents.push_back(
          read_rules(base::parse_strict_json(file.text, name, base::JsonComments::kAllowed), name));
    }
    return RuleBook(std::move(documents));
  }();
  return book;
}

}  // namespace mllog::rules

// The rules of all rounds: the embedded ones, overridden by a user's own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runner/base/embedded_file.h"
#include "runner/mllog/rules/dated_rules.h"

namespace mllog::rules {

class RuleBook {
 public:
  /// The embedded rules, overridden by those in `overlays`: files, or folders of *.json. An overlay
  /// may add rounds, files and rules. Its rule for a key replaces the rule in the file of the same
  /// name, or deletes it ("removed": true). Throws ConfigError with the place of their first error.
  explicit RuleBook(const std::vector<std::string>& overlays = {});
  /// Only these documents.
  explicit RuleBook(std::vector<RuleDocument> documents);

  /// Oldest first, training before hpc.
  const std::vector<Round>& rounds() const { return rounds_; }
  /// Null if there is no such round.
  const Round* find(const std::string& usage, const std::string& number) const;

  /// The rules of a round that has any. Throws ConfigError if they are inconsistent: two rules for
  /// one key, an order relative to a key without a rule, a missing file.
  Ruleset ruleset(const Round& round) const;

 private:
  void gather_rounds();
  void check_editions(const RuleDocument& document) const;
  Rule pick(const DatedRule& dated, const Round& round, const RuleFile& file) const;
  void add_rules(const DatedFile& dated, const Round& round, RuleFile& file) const;
  void add_files(const RuleDocument& document, const Round& round, Ruleset& ruleset) const;
  bool holds(const Edition& when, const Round& round, const std::string& where) const;
  std::size_t place(const std::string& usage, const std::string& number,
                    const std::string& where) const;

  std::span<const base::EmbeddedFile> embedded_;  ///< parsed when a round's rules are requested
  std::vector<RuleDocument> documents_;           ///< rounds, and overlays
  std::vector<Round> rounds_;
  std::string suffix_;  ///< appended to every ruleset's name: "" or "+overlay"
};

/// The book of only the embedded rules, created once. A round's rules are parsed on request.
const RuleBook& embedded_rule_book();

}  // namespace mllog::rules

// The rules of all rounds: those in the program, and a user's own over them.
// Hides files, and how the rules of one round are picked from those of all.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runner/base/embedded_file.h"
#include "runner/mllog/rules/dated_rules.h"

namespace mllog::rules {

class RuleBook {
 public:
  /// The embedded rules, and over them those in `overlays`: files, or folders of *.json. An overlay
  /// may add rounds, files and rules; its rule for a key replaces the one in the file of that name,
  /// or takes it away ("removed": true). Throws ConfigError with the place of the first fault in
  /// them.
  explicit RuleBook(const std::vector<std::string>& overlays = {});
  /// Of these documents only.
  explicit RuleBook(std::vector<RuleDocument> documents);

  /// Oldest first, training before hpc.
  const std::vector<Round>& rounds() const { return rounds_; }
  /// Null where there is none of that number.
  const Round* find(const std::string& usage, const std::string& number) const;

  /// The rules of a round that has any. Throws ConfigError where they do not fit together: two
  /// rules of one key, order relative to a key without a rule, a file that is not there.
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

  std::span<const base::EmbeddedFile> embedded_;  ///< each read when a round's rules are asked for
  std::vector<RuleDocument> documents_;           ///< rounds, and overlays
  std::vector<Round> rounds_;
  std::string suffix_;  ///< of every ruleset's name: "" or "+overlay"
};

/// The book of the embedded rules alone, made once. A round's rules are read when they are asked
/// for.
const RuleBook& embedded_rule_book();

}  // namespace mllog::rules

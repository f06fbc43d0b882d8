// What the rounds ask of a submission's layout and system descriptions.
// Hides the data file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace analysis::submission {

/// Of systems/<system>.json.
struct SystemDescriptionFacts {
  std::vector<std::string> required;       ///< must be there
  std::vector<std::string> never_empty;    ///< of those, must say something
  std::vector<std::string> whole_numbers;  ///< of those, count something; strings of digits too
  std::vector<std::string> text_for_the_official_checker;  ///< it stops at a number here
  std::vector<std::string> divisions;
  std::vector<std::string> statuses;    ///< the only ones in training since statuses_since_training
  std::string statuses_since_training;  ///< a round
};

struct PackageFacts {
  SystemDescriptionFacts system_description;
};

/// The embedded facts. Throws ConfigError when they break their own schema.
const PackageFacts& package_facts();
/// `text` in the schema of configs/submission/package.json; `name` stands in messages.
PackageFacts parse_package_facts(const std::string& text, const std::string& name);

/// The benchmarks that logs of a round may be of; none for a usage or round that is not known.
/// `round` may be long ("3.0.0").
std::vector<std::string> benchmarks_of_round(const std::string& usage, const std::string& round);
/// Log files of a folder; nothing for a benchmark that is not of that usage.
std::optional<std::int64_t> runs_required(const std::string& usage, const std::string& round,
                                          const std::string& benchmark);

/// Whether `round` is `other` or a later one of the same usage, by numbers: 10.0 is after 9.1.
bool at_least_round(const std::string& round, const std::string& other);

}  // namespace analysis::submission

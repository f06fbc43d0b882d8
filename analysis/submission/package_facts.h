// The requirements of the rounds on a submission's layout and system descriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace analysis::submission {

/// The requirements on systems/<system>.json.
struct SystemDescriptionFacts {
  std::vector<std::string> required;       ///< required fields
  std::vector<std::string> never_empty;    ///< required fields that must not be empty
  std::vector<std::string> whole_numbers;  ///< required counts; strings of digits are allowed
  std::vector<std::string> text_for_the_official_checker;  ///< it fails if one is a number
  std::vector<std::string> divisions;
  std::vector<std::string> statuses;    ///< for Training since statuses_since_training
  std::string statuses_since_training;  ///< a round
};

struct PackageFacts {
  SystemDescriptionFacts system_description;
};

/// The embedded facts. Throws ConfigError if they do not match their schema.
const PackageFacts& package_facts();
/// Parses `text`, in the schema of configs/submission/package.json. Messages contain `name`.
PackageFacts parse_package_facts(const std::string& text, const std::string& name);

/// The benchmarks that the rules of a round judge; empty for an unknown usage or round. `round` may
/// be long ("3.0.0").
std::vector<std::string> benchmarks_of_round(const std::string& usage, const std::string& round);
/// The required number of log files in a folder; nothing for a benchmark that is not of that usage.
std::optional<std::int64_t> runs_required(const std::string& usage, const std::string& round,
                                          const std::string& benchmark);

/// Whether `round` is `other` or a later round of the same usage, by numbers: 10.0 is after 9.1.
bool at_least_round(const std::string& round, const std::string& other);

}  // namespace analysis::submission

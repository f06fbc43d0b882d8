// systems/<system>.json: is it complete, sensible, and what the logs say?
// Hides how loosely its values are written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// What logs are compared with; absent where the description does not say it.
struct SystemDescription {
  std::string name;      ///< path below the root of the check
  std::string division;  ///< as written; "" where there is none
  std::string status;
  std::optional<double> number_of_nodes, accelerators_per_node;

  /// As the official package checker understands it: lower case and nothing else.
  bool is_closed() const { return division == "closed"; }
  /// "Closed" too.
  bool is_meant_closed() const;
};

/// Judges the text of a description by the round's rules; `name` is its path in findings. Nothing
/// where it is no JSON object. Missing fields and statuses are errors since round 1.0, warnings
/// before.
std::optional<SystemDescription> check_description(std::string_view text, const std::string& name,
                                                   const PackageRound& round,
                                                   PackageFindings& findings);

/// The same for a file; one that cannot be read is a finding.
std::optional<SystemDescription> check_description_file(const std::filesystem::path& path,
                                                        const std::string& name,
                                                        const PackageRound& round,
                                                        PackageFindings& findings);

/// Division, status, nodes and accelerators of the logs against the description's; a finding for
/// each of the four that differs in some log. Never an error: the official tools do not compare.
void compare_with_logs(const SystemDescription& description, const PackageRuns& set,
                       PackageFindings& findings);

}  // namespace analysis::submission

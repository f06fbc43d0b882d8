// Checks systems/<system>.json: is it complete and valid, and does it agree with the logs?
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// The fields that logs are compared with; absent if the description does not have them.
struct SystemDescription {
  std::string name;  ///< path below the root of the check
  std::string submitter;
  std::string division;  ///< as written; "" if none
  std::string status;
  std::optional<double> number_of_nodes, accelerators_per_node;

  /// As the official package checker decides: lower case only.
  bool is_closed() const { return division == "closed"; }
  /// In upper or lower case: "Closed" too.
  bool is_meant_closed() const;
};

/// Judges the text of a description by the round's rules; `name` is its path in findings. Returns
/// nothing if it is not a JSON object. Missing fields are errors since round 1.0, warnings before;
/// a wrong status is an error in Training since 4.0.
std::optional<SystemDescription> check_description(std::string_view text, const std::string& name,
                                                   const PackageRound& round,
                                                   PackageFindings& findings);

/// The same for a file; adds a finding if it cannot be read.
std::optional<SystemDescription> check_description_file(const std::filesystem::path& path,
                                                        const std::string& name,
                                                        const PackageRound& round,
                                                        PackageFindings& findings);

/// Compares submitter, division, status, nodes and accelerators of the logs with the description's.
/// Adds a finding for each of them that differs in some log; never an error, as the official tools
/// do not compare them.
void compare_with_logs(const SystemDescription& description, const PackageRuns& set,
                       PackageFindings& findings);

}  // namespace analysis::submission

// The description of a system as MLPerf submissions carry it (systems/*.json).
// Hides which fact fills which field, and what of a file stays.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

/// What nobody can read from the machine; "" where it was not said.
struct SystemDescriptionOptions {
  std::string submitter;
  std::string division;
  std::string status;  ///< availability, in MLPerf's words
  std::string system_name;
  int nodes = 0;  ///< of the system, all like the described one; 0: not known
};

/// Every field that the submission checker requires, as text; "" where the fact cannot be read
/// here: nothing is invented. `node` as node_facts().
/// Source: mlcommons/logging, system_desc_checker, training 4.0.
nlohmann::ordered_json describe_system(const SystemDescriptionOptions& options,
                                       const nlohmann::json& node);

/// Of a system of these nodes: the description that most of them have, the first of equals, with
/// their differences in hw_notes and sw_notes. Throws an internal Error where there is no node.
nlohmann::ordered_json describe_nodes(const SystemDescriptionOptions& options,
                                      const std::vector<nlohmann::json>& nodes);

struct UpdatedDescription {
  nlohmann::ordered_json fields;
  std::vector<std::string> contradictions;  ///< "cooling: the file says 'air', ..."
  std::int64_t filled = 0;  ///< fields that were empty or missing, and no longer are
};

/// What stands in `written`, a description from a file, stays, its own fields too; `read` fills
/// what is empty there. Where the machine says something else, the file is kept and that is a
/// contradiction. What `options` say replaces both.
UpdatedDescription update_description(const nlohmann::json& written,
                                      const nlohmann::ordered_json& read,
                                      const SystemDescriptionOptions& options);

}  // namespace runner

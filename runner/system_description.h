// The description of a system in MLPerf submissions (systems/*.json).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

/// Facts that cannot be read from the machine; "" if not given.
struct SystemDescriptionOptions {
  std::string submitter;
  std::string division;
  std::string status;  ///< availability, in MLPerf's terms
  std::string system_name;
  int nodes = 0;  ///< nodes of the system, all like the described one; 0: unknown
};

/// Every field that the submission checker requires, as text; "" if the fact cannot be read here.
/// `node` as node_facts(). Source: mlcommons/logging, system_desc_checker, training 4.0.
nlohmann::ordered_json describe_system(const SystemDescriptionOptions& options,
                                       const nlohmann::json& node);

/// Describes a system of these nodes: the description that most nodes have (the first if tied),
/// with differences in hw_notes and sw_notes. Throws Error(kInternal) if `nodes` is empty.
nlohmann::ordered_json describe_nodes(const SystemDescriptionOptions& options,
                                      const std::vector<nlohmann::json>& nodes);

struct UpdatedDescription {
  nlohmann::ordered_json fields;
  std::vector<std::string> contradictions;  ///< "cooling: the file says 'air', ..."
  std::int64_t filled = 0;                  ///< number of fields that were empty or missing before
};

/// Updates `written`, a description from a file. Its contents stay, unknown fields too; `read`
/// fills empty fields. If the machine contradicts the file, the file's value is kept and reported
/// as a contradiction. Values in `options` override both.
UpdatedDescription update_description(const nlohmann::json& written,
                                      const nlohmann::ordered_json& read,
                                      const SystemDescriptionOptions& options);

}  // namespace runner

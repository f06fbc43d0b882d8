// What a node is, and how the nodes of a job differ.
// Hides which facts belong to a rank and not to its node, and what counts as equal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

/// {"host", "build": {...}, "libraries": {...}, "machine": {...}, "hardware": {...}, "caches"} of
/// this node: base::machine_facts() without what its ranks have each, base::hardware_file_facts().
nlohmann::json node_facts(const nlohmann::json& libraries);

/// A value and the nodes that have it.
struct NodeValue {
  std::string value;
  std::vector<std::string> hosts;
};

/// A fact that is not the same on every node.
struct NodeDifference {
  std::string fact;               ///< path of the fact: "machine.memory_bytes"
  std::vector<NodeValue> values;  ///< most frequent first
};

/// Of node_facts() of several nodes. Bytes that differ by less than one percent are equal: what the
/// kernel keeps for itself varies.
std::vector<NodeDifference> node_differences(const std::vector<nlohmann::json>& nodes);

/// "machine.governor: powersave on 3 nodes, performance on node7".
std::string to_text(const NodeDifference& difference);
/// {"nodes": [...], "differences": [{"fact", "values": [{"value", "hosts"}]}]}.
nlohmann::json differences_document(const std::vector<nlohmann::json>& nodes,
                                    const std::vector<NodeDifference>& differences);

}  // namespace runner

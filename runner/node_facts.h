// The facts of a node, and how the nodes of a job differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

/// {"host", "build": {...}, "libraries": {...}, "machine": {...}, "hardware": {...}, "caches"} of
/// this node. "machine" is base::machine_facts() without per-rank facts, "hardware" is
/// base::hardware_file_facts().
nlohmann::json node_facts(const nlohmann::json& libraries);

/// A value and the nodes that have it.
struct NodeValue {
  std::string value;
  std::vector<std::string> hosts;
};

/// A fact that differs between nodes.
struct NodeDifference {
  std::string fact;               ///< path of the fact: "machine.memory_bytes"
  std::vector<NodeValue> values;  ///< most frequent first
};

/// Compares the node_facts() of several nodes. Byte counts that differ by less than one percent are
/// equal, as the kernel reserves varying amounts.
std::vector<NodeDifference> node_differences(const std::vector<nlohmann::json>& nodes);

/// "machine.governor: powersave on 3 nodes, performance on node7".
std::string to_text(const NodeDifference& difference);
/// {"nodes": [...], "differences": [{"fact", "values": [{"value", "hosts"}]}]}.
nlohmann::json differences_document(const std::vector<nlohmann::json>& nodes,
                                    const std::vector<NodeDifference>& differences);

}  // namespace runner

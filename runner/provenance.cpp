// Collects provenance from all nodes.
#include "runner/provenance.h"

#include <nlohmann/json.hpp>

#include "runner/base/json_text.h"
#include "runner/base/system_facts.h"

namespace runner {
namespace {

using Json = nlohmann::json;

/// The facts of `machine` that differ from those of `first`, except per-rank ones and the host's
/// name.
Json differing(const Json& machine, const Json& first) {
  Json facts = Json::object();
  for (const auto& [key, value] : machine.items()) {
    const bool ranks_own = key == base::kEnvironmentKey || key == base::kHostKey ||
                           key == base::kAffinityKey || key == base::kUsableCpusKey;
    if (!ranks_own && first.value(key, Json()) != value) facts[key] = value;
  }
  return facts;
}

}  // namespace

Json gather_provenance(const Communicator& world, const Topology& topology, const Place& place,
                       const Json& libraries) {
  const Json facts = topology.is_node_leader() ? base::machine_facts() : Json();
  const auto machines = world.gather(facts.is_null() ? "" : base::json_line(facts), 0);
  const auto bindings = world.gather(base::json_line(to_json(place)), 0);
  if (world.rank() != 0) return nullptr;

  Json provenance = {
      {"build", base::build_facts()}, {"libraries", libraries},   {"machine", facts},
      {"nodes", topology.node_count}, {"binding", Json::array()}, {"other_nodes", Json::array()}};
  for (const std::string& text : bindings) provenance["binding"].push_back(Json::parse(text));
  for (std::size_t r = 1; r < machines.size(); ++r) {
    if (machines[r].empty()) continue;
    const Json machine = Json::parse(machines[r]);
    Json difference = differing(machine, facts);
    if (difference.empty()) continue;
    difference[base::kHostKey] = machine.value(base::kHostKey, Json());
    provenance["other_nodes"].push_back(difference);
  }
  return provenance;
}

}  // namespace runner

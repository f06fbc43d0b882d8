// The facts of a node, and how the nodes of a job differ.
#include "runner/node_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "runner/base/hardware_files.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/hwloc_topology.h"

namespace runner {
namespace {

using Json = nlohmann::json;
using Facts = std::map<std::string, Json>;

constexpr double kEqualBytes = 0.01;
/// The most nodes that a line names individually.
constexpr std::size_t kNamedHosts = 8;
constexpr char kNotKnown[] = "(not known)";

/// Variables of launchers and schedulers describe a rank or a job, not the node.
bool belongs_to_rank(std::string_view variable) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"OMPI_", "SLURM_", "PBS_", "LSB_",
                                                         "NCPUS"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

/// The caches of the whole node: "2x L1d 32.0 KiB, 1x L3 36.0 MiB".
Json caches() {
  const TopologyHandle topology = load_topology();
  std::string text;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                      HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(topology.get(), type, nullptr);
    if (count <= 0 || first == nullptr || first->attr->cache.size == 0) continue;
    const char* name = type == HWLOC_OBJ_L1CACHE ? "L1d" : hwloc_obj_type_string(type);
    text += fmt::format("{}{}x {} {}", text.empty() ? "" : ", ", count, name,
                        base::bytes_text(static_cast<double>(first->attr->cache.size)));
  }
  return text.empty() ? Json() : Json(text);
}

void flatten(const Json& value, const std::string& path, Facts& facts) {
  if (!value.is_object()) {
    facts[path] = value;
    return;
  }
  for (const auto& [key, member] : value.items()) {
    if (path.empty() && key == base::kHostKey) continue;
    flatten(member, path.empty() ? key : path + "." + key, facts);
  }
}

std::string host_of(const Json& node) { return node.value(base::kHostKey, std::string("unknown")); }

bool counts_bytes(const std::string& fact) { return fact.ends_with("_bytes"); }

bool equal(const std::string& fact, const Json& one, const Json& other) {
  if (!counts_bytes(fact) || !one.is_number() || !other.is_number()) return one == other;
  const double first = one.get<double>(), second = other.get<double>();
  return std::abs(first - second) <= kEqualBytes * std::max(std::abs(first), std::abs(second));
}

std::string value_text(const std::string& fact, const Json& value) {
  if (value.is_null()) return kNotKnown;
  if (counts_bytes(fact) && value.is_number()) return base::bytes_text(value.get<double>());
  return value.is_string() ? value.get<std::string>() : base::json_line(value);
}

std::vector<NodeValue> values_of(const std::string& fact, const std::vector<Facts>& nodes,
                                 const std::vector<std::string>& hosts) {
  std::vector<const Json*> kinds;
  std::vector<NodeValue> values;
  static const Json kNothing;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto found = nodes[i].find(fact);
    const Json& value = found == nodes[i].end() ? kNothing : found->second;
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Json* known) { return equal(fact, *known, value); });
    const auto at = static_cast<std::size_t>(kind - kinds.begin());
    if (kind == kinds.end()) {
      kinds.push_back(&value);
      values.push_back({value_text(fact, value), {}});
    }
    values[at].hosts.push_back(hosts[i]);
  }
  std::stable_sort(values.begin(), values.end(), [](const NodeValue& one, const NodeValue& other) {
    return one.hosts.size() > other.hosts.size();
  });
  return values;
}

std::string hosts_text(const std::vector<std::string>& hosts, bool is_first) {
  if (is_first && hosts.size() > 1) return fmt::format("{} nodes", hosts.size());
  const std::size_t named = std::min(hosts.size(), kNamedHosts);
  const auto end = hosts.begin() + static_cast<std::ptrdiff_t>(named);
  const std::string text = fmt::format("{}", fmt::join(hosts.begin(), end, ", "));
  return named == hosts.size() ? text : fmt::format("{} and {} more", text, hosts.size() - named);
}

}  // namespace

Json node_facts(const Json& libraries) {
  Json machine = base::machine_facts();
  const std::string host = machine.value(base::kHostKey, std::string("unknown"));
  Json environment = Json::object();
  for (const auto& [name, value] : machine.at(base::kEnvironmentKey).items()) {
    if (!belongs_to_rank(name)) environment[name] = value;
  }
  for (const char* of_rank : {base::kHostKey, base::kAffinityKey, base::kUsableCpusKey}) {
    machine.erase(of_rank);
  }
  machine[base::kEnvironmentKey] = environment;
  return {{base::kHostKey, host},
          {"build", base::build_facts()},
          {"libraries", libraries},
          {"machine", machine},
          {"hardware", base::hardware_file_facts("/")},
          {"caches", caches()}};
}

std::vector<NodeDifference> node_differences(const std::vector<Json>& nodes) {
  std::vector<Facts> flat;
  std::vector<std::string> hosts;
  std::set<std::string> names;
  for (const Json& node : nodes) {
    flatten(node, "", flat.emplace_back());
    hosts.push_back(host_of(node));
    for (const auto& [name, value] : flat.back()) names.insert(name);
  }
  std::vector<NodeDifference> differences;
  for (const std::string& name : names) {
    std::vector<NodeValue> values = values_of(name, flat, hosts);
    if (values.size() > 1) differences.push_back({name, std::move(values)});
  }
  return differences;
}

std::string to_text(const NodeDifference& difference) {
  std::string text = difference.fact + ":";
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    const NodeValue& one = difference.values[i];
    text += fmt::format("{} {} on {}", i == 0 ? "" : ",", one.value, hosts_text(one.hosts, i == 0));
  }
  return text;
}

Json differences_document(const std::vector<Json>& nodes,
                          const std::vector<NodeDifference>& differences) {
  Json list = Json::array();
  for (const NodeDifference& difference : differences) {
    Json values = Json::array();
    for (const NodeValue& one : difference.values) {
      values.push_back({{"value", one.value}, {"hosts", one.hosts}});
    }
    list.push_back({{"fact", difference.fact}, {"values", values}});
  }
  return {{"nodes", nodes}, {"differences", list}};
}

}  // namespace runner

// The fields of systems/*.json, and updating an existing file.
#include "runner/system_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/strict_json.h"
#include "runner/node_facts.h"

namespace runner {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr char kHardwareNotes[] = "hw_notes";
constexpr char kSoftwareNotes[] = "sw_notes";
constexpr char kNodes[] = "number_of_nodes";

/// The member at `path` ("machine/cpu_model"); null if absent.
const Json& at(const Json& node, std::string_view path) {
  static const Json kNothing;
  const Json::json_pointer pointer("/" + std::string(path));
  return node.contains(pointer) ? node.at(pointer) : kNothing;
}

std::string text_of(const Json& node, const std::string& path) {
  const Json& value = at(node, path);
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : base::json_line(value);
}

std::string bytes_of(const Json& node, const std::string& path) {
  const Json& value = at(node, path);
  return value.is_number() ? base::bytes_text(value.get<double>()) : "";
}

std::string per_socket(const Json& node, const std::string& path) {
  const Json &count = at(node, path), &sockets = at(node, "machine/sockets");
  const bool known =
      count.is_number_integer() && sockets.is_number_integer() && sockets.get<int>() > 0;
  return known ? std::to_string(count.get<int>() / sockets.get<int>()) : "";
}

void add(std::string& text, const std::string& part) {
  if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
}

void add(std::string& text, const char* name, const std::string& value) {
  if (!value.empty()) add(text, name + (" " + value));
}

std::string libraries(const Json& node) {
  std::string text;
  for (const auto& [name, version] : at(node, "libraries").items()) {
    if (version.is_string()) add(text, name + " " + version.get<std::string>());
  }
  return text;
}

std::string memory_capacity(const Json& node) {
  const std::string installed = bytes_of(node, "hardware/installed_memory_bytes");
  return installed.empty() ? bytes_of(node, "machine/memory_bytes") : installed;
}

std::string hardware_notes(const Json& node) {
  std::string text = text_of(node, "hardware/product");
  if (at(node, "hardware/virtual_machine") == true) add(text, "virtual machine");
  add(text, "BIOS", text_of(node, "hardware/bios"));
  add(text, "microcode", text_of(node, "hardware/microcode"));
  add(text, "NUMA nodes", text_of(node, "machine/numa_nodes"));
  const Json& smt = at(node, "hardware/smt");
  if (smt.is_boolean()) add(text, smt == true ? "SMT on" : "SMT off");
  add(text, "frequency governor", text_of(node, "machine/governor"));
  return text;
}

std::string software_notes(const Json& node) {
  std::string text;
  add(text, "kernel", text_of(node, "machine/kernel"));
  add(text, text_of(node, "build/compiler"));
  add(text, "transparent huge pages", text_of(node, "machine/transparent_huge_pages"));
  return text;
}

bool is_software(const std::string& fact) {
  constexpr std::array<std::string_view, 6> kSoftware = {"build.",
                                                         "libraries.",
                                                         "machine.environment.",
                                                         "machine.kernel",
                                                         "machine.operating_system",
                                                         "machine.transparent_huge_pages"};
  return std::any_of(kSoftware.begin(), kSoftware.end(),
                     [&](std::string_view start) { return fact.starts_with(start); });
}

bool is_blank(const Json& value) {
  if (value.is_null()) return true;
  return value.is_string() &&
         value.get_ref<const std::string&>().find_first_not_of(" \t\r\n") == std::string::npos;
}

/// A number is given by its digits.
std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : base::json_line(value);
}

/// Fields that a machine cannot contradict: free text, and the division.
bool is_for_people(const std::string& field) {
  return field == kHardwareNotes || field == kSoftwareNotes || field == "division";
}

std::map<std::string, std::string> said(const SystemDescriptionOptions& options) {
  std::map<std::string, std::string> fields = {{"submitter", options.submitter},
                                               {"division", options.division},
                                               {"status", options.status},
                                               {"system_name", options.system_name}};
  if (options.nodes > 0) fields[kNodes] = std::to_string(options.nodes);
  std::erase_if(fields, [](const auto& field) { return field.second.empty(); });
  return fields;
}

}  // namespace

OrderedJson describe_system(const SystemDescriptionOptions& options, const Json& node) {
  return {{"submitter", options.submitter},
          {"division", options.division},
          {"status", options.status},
          {"system_name", options.system_name},
          {kNodes, options.nodes > 0 ? std::to_string(options.nodes) : ""},
          {"host_processors_per_node", text_of(node, "machine/sockets")},
          {"host_processor_model_name", text_of(node, "machine/cpu_model")},
          {"host_processor_core_count", per_socket(node, "machine/cores")},
          {"host_processor_vcpu_count", per_socket(node, "machine/logical_cpus")},
          {"host_processor_frequency", text_of(node, "hardware/frequency")},
          {"host_processor_caches", text_of(node, "caches")},
          {"host_processor_interconnect", text_of(node, "hardware/interconnect")},
          {"host_memory_capacity", memory_capacity(node)},
          {"host_storage_type", text_of(node, "hardware/storage_type")},
          {"host_storage_capacity", bytes_of(node, "hardware/storage_bytes")},
          {"host_networking", text_of(node, "hardware/network")},
          {"host_networking_topology", ""},
          {"host_memory_configuration", text_of(node, "hardware/memory_modules")},
          {"accelerators_per_node", "0"},
          {"accelerator_model_name", ""},
          {"accelerator_host_interconnect", ""},
          {"accelerator_frequency", ""},
          {"accelerator_on-chip_memories", ""},
          {"accelerator_memory_configuration", ""},
          {"accelerator_memory_capacity", ""},
          {"accelerator_interconnect", ""},
          {"accelerator_interconnect_topology", ""},
          {"cooling", ""},
          {kHardwareNotes, hardware_notes(node)},
          {"framework", fmt::format("trainmark {} ({})", text_of(node, "build/version"),
                                    text_of(node, "build/revision"))},
          {"other_software_stack", libraries(node)},
          {"operating_system", text_of(node, "machine/operating_system")},
          {kSoftwareNotes, software_notes(node)}};
}

OrderedJson describe_nodes(const SystemDescriptionOptions& options,
                           const std::vector<Json>& nodes) {
  std::vector<std::pair<OrderedJson, std::size_t>> kinds;
  for (const Json& node : nodes) {
    OrderedJson fields = describe_system(options, node);
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& kind) { return kind.first == fields; });
    if (same != kinds.end()) {
      ++same->second;
    } else {
      kinds.emplace_back(std::move(fields), 1);
    }
  }
  if (kinds.empty()) throw base::Error(base::ExitCode::kInternal, "no node to describe");
  const auto most = std::max_element(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  OrderedJson description = std::move(most->first);
  for (const NodeDifference& difference : node_differences(nodes)) {
    auto& notes = description[is_software(difference.fact) ? kSoftwareNotes : kHardwareNotes];
    const auto text = notes.get<std::string>();
    notes = text + (text.empty() ? "" : "; ") + "nodes differ in " + to_text(difference);
  }
  return description;
}

UpdatedDescription update_description(const Json& written, const OrderedJson& read,
                                      const SystemDescriptionOptions& options) {
  UpdatedDescription updated;
  const auto spoken = said(options);
  for (const auto& [field, value] : read.items()) {
    const auto found = written.find(field);
    const bool is_empty = found == written.end() || is_blank(*found);
    if (spoken.contains(field)) {
      updated.fields[field] = spoken.at(field);
      continue;
    }
    if (is_empty) {
      updated.fields[field] = value;
      if (!is_blank(Json(value))) ++updated.filled;
      continue;
    }
    updated.fields[field] = *found;
    const std::string machine = plain(Json(value));
    if (!machine.empty() && !is_for_people(field) && plain(*found) != machine) {
      updated.contradictions.push_back(fmt::format("{}: the file says {}, the machine '{}'", field,
                                                   base::brief_json(*found), machine));
    }
  }
  for (const auto& [field, value] : written.items()) {
    if (!read.contains(field)) updated.fields[field] = value;
  }
  return updated;
}

}  // namespace runner

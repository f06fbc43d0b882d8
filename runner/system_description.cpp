// Fields of systems/*.json.
// Hides where each fact is found.
#include "runner/system_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "runner/documents.h"
#include "runner/hwloc_topology.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string text_of(const Json& facts, const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string per_socket(const Json& machine, const char* key) {
  const auto count = machine.find(key), sockets = machine.find("sockets");
  const bool known = count != machine.end() && count->is_number_integer() &&
                     sockets != machine.end() && sockets->is_number_integer() &&
                     sockets->get<int>() > 0;
  return known ? std::to_string(count->get<int>() / sockets->get<int>()) : "";
}

/// The highest frequency the kernel knows, else the nominal one in the model's name.
std::string frequency(const std::string& model) {
  const std::string khz = first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  const double highest_khz = std::strtod(khz.c_str(), nullptr);
  if (highest_khz > 0.0) return fmt::format("{:.2f} GHz", highest_khz / 1e6);
  const auto at = model.find_last_of('@');
  if (at == std::string::npos) return "";
  const auto first = model.find_first_not_of(' ', at + 1);
  return first == std::string::npos ? "" : model.substr(first);
}

/// "2x L1d 32.0 KiB, 1x L3 36.0 MiB" of the whole node.
std::string caches() {
  const TopologyHandle topology = load_topology();
  std::string text;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                      HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(topology.get(), type, nullptr);
    if (count <= 0 || first == nullptr || first->attr->cache.size == 0) continue;
    const char* name = type == HWLOC_OBJ_L1CACHE ? "L1d" : hwloc_obj_type_string(type);
    text += fmt::format("{}{}x {} {}", text.empty() ? "" : ", ", count, name,
                        bytes_text(static_cast<double>(first->attr->cache.size)));
  }
  return text;
}

struct Storage {
  std::string type;
  std::string capacity;
};

std::string storage_type(const fs::path& device) {
  const std::string name = device.filename().string();
  if (name.starts_with("nvme")) return "NVMe";
  // What a virtual disk says of its rotation is an accident of the hypervisor.
  if (name.starts_with("vd") || name.starts_with("xvd")) return "virtual disk";
  return first_line(device / "queue" / "rotational") == "1" ? "disk" : "SSD";
}

/// The node's own disks; what the kernel makes out of files and memory is none.
Storage storage() {
  std::map<std::string, int> types;
  double bytes = 0.0;
  for (const fs::path& device : entries("/sys/block")) {
    if (!fs::exists(device / "device")) continue;
    const std::string sectors = first_line(device / "size");
    const double size = std::strtod(sectors.c_str(), nullptr) * 512.0;
    if (size <= 0.0 || first_line(device / "removable") == "1") continue;
    ++types[storage_type(device)];
    bytes += size;
  }
  Storage found;
  for (const auto& [type, count] : types) {
    found.type += fmt::format("{}{}x {}", found.type.empty() ? "" : ", ", count, type);
  }
  if (bytes > 0.0) found.capacity = bytes_text(bytes);
  return found;
}

/// Interfaces that are hardware and know their rate, and InfiniBand ports.
std::string networking() {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const fs::path& interface : entries("/sys/class/net")) {
    const std::string speed = first_line(interface / "speed");
    const bool up = !speed.empty() && speed[0] != '-' && speed != "0";
    if (up && fs::exists(interface / "device")) {
      add(fmt::format("{} {} Mb/s", interface.filename().string(), speed));
    }
  }
  for (const fs::path& adapter : entries("/sys/class/infiniband")) {
    const std::string rate = first_line(adapter / "ports" / "1" / "rate");
    if (!rate.empty()) add(fmt::format("{} {}", adapter.filename().string(), rate));
  }
  return text;
}

std::string memory(const Json& machine) {
  const auto bytes = machine.find("memory_bytes");
  const bool known = bytes != machine.end() && bytes->is_number_integer();
  return known ? bytes_text(bytes->get<double>()) : "";
}

std::string software(const Json& libraries) {
  std::string text;
  for (const auto& [name, version] : libraries.items()) {
    if (!version.is_string()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, version.get<std::string>());
  }
  return text;
}

}  // namespace

nlohmann::ordered_json describe_system(const SystemDescriptionOptions& options, const Json& machine,
                                       const Json& build, const Json& libraries) {
  const Storage disks = storage();
  const std::string model = text_of(machine, "cpu_model");
  return {{"submitter", options.submitter},
          {"division", options.division},
          {"status", options.status},
          {"system_name", options.system_name},
          {"number_of_nodes", std::to_string(options.nodes)},
          {"host_processors_per_node", text_of(machine, "sockets")},
          {"host_processor_model_name", model},
          {"host_processor_core_count", per_socket(machine, "cores")},
          {"host_processor_vcpu_count", per_socket(machine, "logical_cpus")},
          {"host_processor_frequency", frequency(model)},
          {"host_processor_caches", caches()},
          {"host_processor_interconnect", ""},
          {"host_memory_capacity", memory(machine)},
          {"host_storage_type", disks.type},
          {"host_storage_capacity", disks.capacity},
          {"host_networking", networking()},
          {"host_networking_topology", ""},
          {"host_memory_configuration", ""},
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
          {"hw_notes", ""},
          {"framework",
           fmt::format("trainmark {} ({})", text_of(build, "version"), text_of(build, "revision"))},
          {"other_software_stack", software(libraries)},
          {"operating_system", text_of(machine, "operating_system")},
          {"sw_notes",
           fmt::format("kernel {}, {}", text_of(machine, "kernel"), text_of(build, "compiler"))}};
}

}  // namespace runner

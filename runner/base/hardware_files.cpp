// Reads a node's hardware from /proc, /sys and udev's records.
#include "runner/base/hardware_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runner/base/fact_files.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace base {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
/// Kinds of device and the number of each.
using Counts = std::map<std::string, int>;

constexpr double kBytesPerSector = 512.0;
/// First AMD family whose sockets are connected by Infinity Fabric.
constexpr std::int64_t kZenFamily = 23;

double number(const std::optional<std::string>& text) {
  return text ? std::strtod(text->c_str(), nullptr) : 0.0;
}

Json text_or_null(const std::optional<std::string>& text) {
  const std::string value = text ? trimmed(*text) : "";
  return value.empty() ? Json() : Json(value);
}

/// "2x NVMe, 1x disk"; null when there is nothing.
Json listed(const Counts& counts) {
  std::string text;
  for (const auto& [what, count] : counts) {
    text += fmt::format("{}{}x {}", text.empty() ? "" : ", ", count, what);
  }
  return text.empty() ? Json() : Json(text);
}

/// From cpufreq; else the nominal value in the model's name; else the kernel's current measurement.
Json frequency(const fs::path& root) {
  const fs::path cpufreq = root / "sys/devices/system/cpu/cpu0/cpufreq";
  const double base_khz = number(first_line(cpufreq / "base_frequency"));
  const double highest_khz = number(first_line(cpufreq / "cpuinfo_max_freq"));
  const auto ghz = [](double khz) { return fmt::format("{:.2f} GHz", khz / 1e6); };
  if (base_khz > 0.0 && highest_khz > base_khz) {
    return fmt::format("{} base, {} highest", ghz(base_khz), ghz(highest_khz));
  }
  if (highest_khz > 0.0) return ghz(highest_khz);
  const std::string model = field(root / "proc/cpuinfo", "model name", ':').value_or("");
  if (const auto at = model.find_last_of('@'); at != std::string::npos) {
    return text_or_null(model.substr(at + 1));
  }
  const double mhz = number(field(root / "proc/cpuinfo", "cpu MHz", ':'));
  return mhz > 0.0 ? Json(fmt::format("{} (as measured)", ghz(mhz * 1000.0))) : Json();
}

std::size_t sockets(const fs::path& root) {
  std::set<std::int64_t> found;
  for (const fs::path& cpu : numbered(root / "sys/devices/system/cpu", "cpu")) {
    const auto package = leading_integer(first_line(cpu / "topology/physical_package_id"));
    if (package && *package >= 0) found.insert(*package);
  }
  return found.size();
}

/// Null with one socket, and where nothing identifies the interconnect.
Json interconnect(const fs::path& root) {
  if (sockets(root) < 2) return nullptr;
  for (const fs::path& counter : entries(root / "sys/bus/event_source/devices")) {
    const std::string name = counter.filename().string();
    if (name.starts_with("uncore_upi")) return "UPI";
    if (name.starts_with("uncore_qpi")) return "QPI";
  }
  const fs::path cpuinfo = root / "proc/cpuinfo";
  const auto family = leading_integer(field(cpuinfo, "cpu family", ':'));
  const bool is_zen =
      field(cpuinfo, "vendor_id", ':') == "AuthenticAMD" && family && *family >= kZenFamily;
  return is_zen ? Json("Infinity Fabric") : Json();
}

Json smt(const fs::path& root) {
  const auto active = first_line(root / "sys/devices/system/cpu/smt/active");
  return active ? Json(*active == "1") : Json();
}

Json is_virtual(const fs::path& root) {
  const auto flags = field(root / "proc/cpuinfo", "flags", ':');
  if (!flags) return nullptr;
  return (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
}

Json product(const fs::path& root) {
  const fs::path dmi = root / "sys/class/dmi/id";
  const std::string vendor = trimmed(first_line(dmi / "sys_vendor").value_or(""));
  const std::string name = trimmed(first_line(dmi / "product_name").value_or(""));
  return text_or_null(name.starts_with(vendor) ? name : vendor + " " + name);
}

/// The memory modules and their total size in bytes.
struct Modules {
  Counts kinds;
  double bytes = 0.0;
};

/// udev stores the firmware's record of each slot: "E:MEMORY_DEVICE_3_TYPE=DDR4".
std::map<std::string, std::map<std::string, std::string>> udev_slots(const fs::path& root) {
  constexpr std::string_view kPrefix = "E:MEMORY_DEVICE_";
  std::map<std::string, std::map<std::string, std::string>> slots;
  std::ifstream file(root / "run/udev/data/+dmi:id");
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (!line.starts_with(kPrefix) || equals == std::string::npos) continue;
    const std::string name = line.substr(kPrefix.size(), equals - kPrefix.size());
    const std::size_t end = name.find('_');
    if (end != std::string::npos) {
      slots[name.substr(0, end)][name.substr(end + 1)] = line.substr(equals + 1);
    }
  }
  return slots;
}

std::string module_text(std::map<std::string, std::string>& slot, double bytes) {
  std::string text = bytes_text(bytes);
  const std::string &type = slot["TYPE"], &speed = slot["SPEED_MTS"];
  const std::string& configured = slot["CONFIGURED_SPEED_MTS"];
  const bool has_speed = number(speed) > 0.0;
  if (!type.empty()) text += " " + type + (has_speed ? "-" + speed : "");
  if (number(configured) > 0.0 && configured != speed) text += " at " + configured + " MT/s";
  return text;
}

Modules modules(const fs::path& root) {
  Modules found;
  for (auto& [number_text, slot] : udev_slots(root)) {
    const double bytes = number(slot["SIZE"]);
    if (bytes <= 0.0) continue;
    ++found.kinds[module_text(slot, bytes)];
    found.bytes += bytes;
  }
  if (found.bytes > 0.0) return found;
  for (const fs::path& controller : numbered(root / "sys/devices/system/edac/mc", "mc")) {
    for (const fs::path& dimm : numbered(controller, "dimm")) {
      const double bytes = number(first_line(dimm / "size")) * base::kMebibyte;
      if (bytes <= 0.0) continue;
      const std::string type = trimmed(first_line(dimm / "dimm_mem_type").value_or(""));
      ++found.kinds[bytes_text(bytes) + (type.empty() ? "" : " " + type)];
      found.bytes += bytes;
    }
  }
  return found;
}

std::string storage_type(const fs::path& device) {
  const std::string name = device.filename().string();
  if (name.starts_with("nvme")) return "NVMe";
  // The rotational flag of a virtual disk depends on the hypervisor.
  if (name.starts_with("vd") || name.starts_with("xvd")) return "virtual disk";
  return first_line(device / "queue" / "rotational") == "1" ? "disk" : "SSD";
}

/// The node's own disks, without devices that the kernel backs by files or memory.
void add_storage(const fs::path& root, Json& facts) {
  Counts types;
  double bytes = 0.0;
  for (const fs::path& device : entries(root / "sys/block")) {
    if (!fs::exists(device / "device")) continue;
    const double size = number(first_line(device / "size")) * kBytesPerSector;
    if (size <= 0.0 || first_line(device / "removable") == "1") continue;
    ++types[storage_type(device)];
    bytes += size;
  }
  facts["storage_type"] = listed(types);
  facts["storage_bytes"] = bytes > 0.0 ? Json(static_cast<std::int64_t>(bytes)) : Json();
}

std::string rate_text(double mbits) {
  return mbits >= 1000.0 ? fmt::format("{:g} Gb/s", mbits / 1000.0)
                         : fmt::format("{:g} Mb/s", mbits);
}

/// Physical interfaces with a known rate, and active ports of fabrics.
Json network(const fs::path& root) {
  Counts links;
  for (const fs::path& interface : entries(root / "sys/class/net")) {
    const double mbits = number(first_line(interface / "speed"));
    // IPoIB interfaces are counted as ports of their adapter below.
    const bool is_ethernet = first_line(interface / "type").value_or("1") == "1";
    if (mbits > 0.0 && is_ethernet && fs::exists(interface / "device")) {
      ++links["Ethernet " + rate_text(mbits)];
    }
  }
  for (const fs::path& adapter : entries(root / "sys/class/infiniband")) {
    for (const fs::path& port : numbered(adapter / "ports", "")) {
      const std::string rate = trimmed(first_line(port / "rate").value_or(""));
      const std::string state = first_line(port / "state").value_or("4: ACTIVE");
      // RoCE ports are counted as Ethernet interfaces above.
      const bool is_fabric = first_line(port / "link_layer") != "Ethernet";
      if (rate.empty() || !is_fabric || state.find("ACTIVE") == std::string::npos) continue;
      const bool is_omni_path = adapter.filename().string().starts_with("hfi1");
      ++links[(is_omni_path ? "Omni-Path " : "InfiniBand ") + rate];
    }
  }
  return listed(links);
}

}  // namespace

Json hardware_file_facts(const fs::path& root) {
  const Modules memory = modules(root);
  Json facts;
  facts["frequency"] = frequency(root);
  facts["interconnect"] = interconnect(root);
  facts["microcode"] = text_or_null(field(root / "proc/cpuinfo", "microcode", ':'));
  facts["smt"] = smt(root);
  facts["virtual_machine"] = is_virtual(root);
  facts["product"] = product(root);
  facts["bios"] = text_or_null(first_line(root / "sys/class/dmi/id/bios_version"));
  facts["memory_modules"] = listed(memory.kinds);
  facts["installed_memory_bytes"] =
      memory.bytes > 0.0 ? Json(static_cast<std::int64_t>(memory.bytes)) : Json();
  add_storage(root, facts);
  facts["network"] = network(root);
  return facts;
}

}  // namespace base

// A node's hardware from /proc, /sys and udev's records, in the terms of a system description.
// Needs no root.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace base {

/// {"frequency", "interconnect" (between the processors), "microcode", "smt", "virtual_machine",
/// "product", "bios", "memory_modules", "installed_memory_bytes", "storage_type", "storage_bytes",
/// "network"}; a fact that cannot be read is null. Serial numbers and addresses are left out.
/// `root`: "/", or a test's tree.
nlohmann::json hardware_file_facts(const std::filesystem::path& root);

}  // namespace base

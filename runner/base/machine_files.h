// What /proc and /sys say about the machine.
// Hides their formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace base {

/// {"cpu_model", "sockets", "cores", "logical_cpus", "numa_nodes", "memory_bytes",
/// "transparent_huge_pages", "governor", "operating_system"}; a fact that cannot be read is null.
/// `root`: "/", or a test's tree.
nlohmann::json machine_file_facts(const std::filesystem::path& root);

/// A field of /proc/self/status that counts KiB, such as "VmHWM".
std::optional<std::int64_t> status_kib(const std::filesystem::path& root, const std::string& field);

/// Bytes that `threads` threads, each on a CPU of its own, have of the caches of `level`: as the
/// first CPU's are, each shared evenly by its CPUs. 0 where the system does not tell.
std::int64_t cache_bytes(const std::filesystem::path& root, int level, int threads);

}  // namespace base

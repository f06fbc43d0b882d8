// Facts about the machine from /proc and /sys.
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

/// Total bytes of the caches of `level` available to `threads` threads, each on a CPU of its own.
/// Assumes that all CPUs have the first CPU's caches, each shared evenly by its CPUs. 0 if unknown.
std::int64_t cache_bytes(const std::filesystem::path& root, int level, int threads);

}  // namespace base

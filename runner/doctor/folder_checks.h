// Looks at the folders and files that a run reads and writes. Removes what it writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runner/doctor/finding.h"
#include "runner/doctor/needs.h"

namespace doctor {

/// A file system, as statfs tells.
struct Volume {
  std::string type;  ///< "ext4", "lustre"; a hexadecimal number where it has no known name
  bool is_network = false, is_in_memory = false;
  std::int64_t free_bytes = 0;
  std::optional<std::int64_t> free_inodes;  ///< unknown where the file system counts none
};
/// Throws SystemError.
Volume volume_of(const std::string& folder);

/// `path`, or the nearest folder above it that exists.
std::string nearest_folder(const std::string& path);

/// folder.dataset: whether a file, or the first file of a folder, can be read.
/// The remedy names the workload's generator.
Finding check_dataset(const std::string& path, const std::string& workload);
/// Bytes below these paths; nothing where looking at them takes longer than some tenths of a
/// second.
std::optional<std::int64_t> dataset_bytes(const std::vector<std::string>& paths);

/// folder.write, folder.space and folder.locks of the folder in which a run writes `path`. With
/// `wanted_bytes` less free space is an error.
Findings check_folder(const std::string& path, std::int64_t wanted_bytes);
/// folder.space of node-local storage: also whether it is node-local, and what it takes of memory.
/// `staged_bytes`: of a whole copy of the data, if that is known.
Findings check_scratch(const Needs& needs, std::optional<std::int64_t> staged_bytes,
                       std::optional<std::int64_t> memory_available);

/// folder.leftovers of this user on this node: what dead runs left in the scratch folder, in
/// `temporary` (Open MPI's session folders) and in `shared_memory` ("/dev/shm").
Findings check_leftovers(const std::string& scratch, const std::filesystem::path& temporary,
                         const std::filesystem::path& shared_memory);

}  // namespace doctor

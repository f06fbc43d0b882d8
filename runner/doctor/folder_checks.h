// Checks the folders and files that a run reads and writes. Removes its own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runner/doctor/finding.h"
#include "runner/doctor/needs.h"

namespace doctor {

/// A file system, as reported by statfs.
struct Volume {
  std::string type;  ///< "ext4", "lustre"; a hexadecimal number if its name is unknown
  bool is_network = false, is_in_memory = false;
  std::int64_t free_bytes = 0;
  std::optional<std::int64_t> free_inodes;  ///< empty if the file system does not count inodes
};
/// Throws SystemError.
Volume volume_of(const std::string& folder);

/// `path`, or its nearest existing ancestor folder.
std::string nearest_folder(const std::string& path);

/// folder.dataset: whether a file, or the first file of a folder, can be read. The remedy names the
/// workload's generator.
Finding check_dataset(const std::string& path, const std::string& workload);
/// Bytes below these paths; nothing if counting takes longer than some tenths of a second.
std::optional<std::int64_t> dataset_bytes(const std::vector<std::string>& paths);

/// folder.write, folder.space and folder.locks of the folder in which a run writes `path`. Less
/// than `wanted_bytes` of free space is an error.
Findings check_folder(const std::string& path, std::int64_t wanted_bytes);
/// folder.space of node-local storage; also checks that it is node-local, and how much memory it
/// takes. `staged_bytes`: a complete copy of the data, if known.
Findings check_scratch(const Needs& needs, std::optional<std::int64_t> staged_bytes,
                       std::optional<std::int64_t> memory_available);

/// folder.leftovers: files of this user's dead runs on this node, in the scratch folder, in
/// `temporary` (Open MPI's session folders) and in `shared_memory` ("/dev/shm").
Findings check_leftovers(const std::string& scratch, const std::filesystem::path& temporary,
                         const std::filesystem::path& shared_memory);

}  // namespace doctor

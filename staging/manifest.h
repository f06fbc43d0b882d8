// The manifest of a staged set: a folder of packed files is a set only if it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace staging {

/// One packed file and its index, both in the manifest's folder.
struct PackedPart {
  std::string file, index_file;
  std::int64_t samples = 0, bytes = 0;
  std::string index_hash;  ///< XXH3 of the index file
};

struct Manifest {
  std::string identity, source;
  std::int64_t samples = 0, bytes = 0;
  std::vector<PackedPart> parts;
  std::string made_by;   ///< for human readers: "job 12, node3, process 345"
  bool is_kept = false;  ///< for later runs; otherwise the last run that uses the set removes it
};

inline constexpr const char* kManifestFile = "manifest.json";
/// Marks a set in which a sample did not match its checksum.
inline constexpr const char* kDamagedFile = "damaged";

/// Replaces an older manifest atomically; the new one is flushed to the device. Must be the last
/// file written. Throws SystemError.
void write_manifest(const std::string& directory, const Manifest& manifest);
/// Throws DataError when the manifest is missing or damaged.
Manifest read_manifest(const std::string& directory);

/// Serialises a part for the rank that writes the manifest.
std::string to_text(const PackedPart& part);
PackedPart part_from_text(const std::string& text);

/// XXH3 with 128 bits, as 32 hexadecimal digits.
std::string hash_text(const void* data, std::size_t size);

}  // namespace staging

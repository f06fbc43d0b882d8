// The manifest that makes a folder of packed files a staged set.
// Hides its JSON form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace staging {

/// One packed file as the manifest names it; its index lies beside it.
struct PackedPart {
  std::string file, index_file;
  std::int64_t samples = 0, bytes = 0;
  std::string index_hash;  ///< XXH3 of the index file
};

struct Manifest {
  std::string identity, source;
  std::int64_t samples = 0, bytes = 0;
  std::vector<PackedPart> parts;
  std::string made_by;   ///< for people: "job 12, node3, process 345"
  bool is_kept = false;  ///< for later runs; else the last run that uses the set removes it
};

inline constexpr const char* kManifestFile = "manifest.json";
/// Beside the manifest of a set of which a sample did not match its checksum.
inline constexpr const char* kDamagedFile = "damaged";

/// Written last, and safe on the device when this returns. Replaces an older one as a whole. Throws
/// SystemError.
void write_manifest(const std::string& directory, const Manifest& manifest);
/// Throws DataError when there is none or it is damaged.
Manifest read_manifest(const std::string& directory);

/// A part as text, for the rank that writes the manifest.
std::string to_text(const PackedPart& part);
PackedPart part_from_text(const std::string& text);

/// XXH3 with 128 bits, as 32 hexadecimal digits.
std::string hash_text(const void* data, std::size_t size);

}  // namespace staging

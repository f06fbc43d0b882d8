// Compression and decompression of whole gzip files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// Whether a file that begins with these bytes is a gzip file.
bool is_gzip(std::span<const std::byte> bytes);

/// Decompresses a file of one or several members (RFC 1952) and checks all checksums. Throws
/// DataError naming file (`name`) and offset when the file is damaged or truncated, when anything
/// else follows a member, and as soon as the content exceeds `most_bytes`.
std::vector<std::byte> gunzip(std::span<const std::byte> file, std::int64_t most_bytes,
                              const std::string& name);

/// One member without name and time: the same zlib gives equal files for equal contents.
std::vector<std::byte> gzip(std::span<const std::byte> content);

}  // namespace dataset

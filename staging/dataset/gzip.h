// Whole files compressed by gzip.
// Hides zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// Whether these are the first bytes of such a file.
bool is_gzip(std::span<const std::byte> bytes);

/// The content of a file of one or several members (RFC 1952), all checksums checked. Throws
/// DataError naming file (`name`) and offset when it is damaged or cut, when anything else follows
/// a member, and as soon as the content exceeds `most_bytes`.
std::vector<std::byte> gunzip(std::span<const std::byte> file, std::int64_t most_bytes,
                              const std::string& name);

/// One member without name and time: with the same zlib equal contents give equal files.
std::vector<std::byte> gzip(std::span<const std::byte> content);

}  // namespace dataset

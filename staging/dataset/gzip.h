// Compression of whole gzip files; expand.h expands them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dataset {

/// One member (RFC 1952) without name and time: the same zlib gives equal files for equal contents.
std::vector<std::byte> gzip(std::span<const std::byte> content);

}  // namespace dataset

// Files of a generated dataset, each written atomically and only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace staging {

/// Size in bytes of the file that an earlier run left at `path`; -1 if there is none.
std::int64_t bytes_left_at(const std::string& path);

/// Writes the whole file or nothing: an interrupted write leaves `path`~, which the next run
/// overwrites. Throws SystemError.
void write_generated(const std::string& path, std::span<const std::byte> data);

/// Keeps the file at `path` if it exists, else writes the bytes that `make` returns. Returns the
/// file's size in bytes. Throws SystemError.
std::int64_t keep_or_write(const std::string& path,
                           const std::function<std::vector<std::byte>()>& make);

}  // namespace staging

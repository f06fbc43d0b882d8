// Files of a generated dataset, each written whole, and once.
// Hides names of files begun, and how an interrupted run goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace staging {

/// Bytes of the file that an earlier run left at `path`; -1 where there is none.
std::int64_t bytes_left_at(const std::string& path);

/// A whole file or none: an interrupted write leaves another name, which the next run overwrites.
/// Throws SystemError.
void write_generated(const std::string& path, std::span<const std::byte> data);

/// The file at `path` stays as an earlier run left it, or becomes what `make` gives. Returns its
/// bytes. Throws SystemError.
std::int64_t keep_or_write(const std::string& path,
                           const std::function<std::vector<std::byte>()>& make);

}  // namespace staging

// Readers for the small files in /proc and /sys that state one value per line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace base {

/// Nothing if the file cannot be read or is empty.
std::optional<std::string> first_line(const std::filesystem::path& file);
/// The value of the first line `name<separator>value`, trimmed of blanks and quotes.
std::optional<std::string> field(const std::filesystem::path& file, const std::string& name,
                                 char separator);
/// Without leading and trailing blanks and quotes.
std::string trimmed(const std::string& text);
std::optional<std::int64_t> leading_integer(const std::optional<std::string>& text);
/// The entries `parent/<prefix><number>`, such as cpu0, sorted by number; empty if the folder is
/// missing.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& parent,
                                            const std::string& prefix);
/// All entries of a folder, sorted by name; empty if the folder is missing.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

}  // namespace base

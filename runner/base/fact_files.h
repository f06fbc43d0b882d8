// Small readers for the files in which the kernel states facts, one value a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace base {

/// Nothing where the file cannot be read or has no line.
std::optional<std::string> first_line(const std::filesystem::path& file);
/// The value behind the first line `name<separator>value`, without blanks and quotes around it.
std::optional<std::string> field(const std::filesystem::path& file, const std::string& name,
                                 char separator);
/// Without blanks and quotes around it.
std::string trimmed(const std::string& text);
std::optional<std::int64_t> leading_integer(const std::optional<std::string>& text);
/// Entries `parent/<prefix><number>`, such as cpu0, by number; none where there is no such folder.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& parent,
                                            const std::string& prefix);
/// All entries of a folder by name; none where there is no such folder.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

}  // namespace base

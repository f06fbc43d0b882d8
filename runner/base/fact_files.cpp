// Readers for small files in /proc and /sys.
#include "runner/base/fact_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

namespace base {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return {};
  return line;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\"");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\"") - first + 1);
}

std::optional<std::string> field(const fs::path& file, const std::string& name, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(separator);
    if (at != std::string::npos && trimmed(line.substr(0, at)) == name) {
      return trimmed(line.substr(at + 1));
    }
  }
  return {};
}

std::optional<std::int64_t> leading_integer(const std::optional<std::string>& text) {
  if (!text) return {};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc()) return {};
  return value;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> numbered(const fs::path& parent, const std::string& prefix) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const fs::path& entry : entries(parent)) {
    const std::string name = entry.filename().string();
    if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
    const std::string digits = name.substr(prefix.size());
    const bool fits = digits.find_first_not_of("0123456789") == std::string::npos;
    if (const auto number = leading_integer(digits); fits && number) {
      found.emplace_back(*number, entry);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace base

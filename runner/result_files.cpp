// Claiming of result numbers.
// Hides directory scans, and who was faster.
#include "runner/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/make_folder.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "result_";

/// The n of "result_<n>.anything", 0 for other names.
std::int64_t number_in(const std::string& name) {
  std::int64_t number = 0;
  if (name.compare(0, kPrefix.size(), kPrefix) != 0) return 0;
  const char* first = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(first, name.data() + name.size(), number);
  return error == std::errc() && end != first && *end == '.' ? std::max<std::int64_t>(number, 0)
                                                             : 0;
}

std::int64_t highest_number(const std::string& folder) {
  std::int64_t highest = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    highest = std::max(highest, number_in(it->path().filename().string()));
  }
  if (error) throw base::system_error("cannot list " + folder, error.value());
  return highest;
}

}  // namespace

ResultFiles::ResultFiles(std::string folder, std::int64_t number,
                         std::unique_ptr<mllog::FileSink> log)
    : folder_(std::move(folder)), number_(number), log_(std::move(log)) {}

std::string ResultFiles::path(const char* ending) const {
  return fmt::format("{}/{}{}{}", folder_, kPrefix, number_, ending);
}

ResultFiles ResultFiles::claim(const std::string& folder) {
  base::make_folder(folder);
  for (std::int64_t number = highest_number(folder) + 1;; ++number) {
    const std::string path = fmt::format("{}/{}{}.txt", folder, kPrefix, number);
    try {
      return {folder, number, std::make_unique<mllog::FileSink>(path)};
    } catch (const base::SystemError&) {
      // Another run was faster; anything else is for the caller.
      if (!fs::exists(path)) throw;
    }
  }
}

}  // namespace runner

// Claims result numbers.
#include "runner/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exclusive_file.h"
#include "runner/base/make_folder.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

constexpr char kCutOff[] = "/cut_off";

std::int64_t highest_number(const std::string& folder) {
  std::int64_t highest = 0;
  std::error_code error;
  if (!fs::exists(folder, error)) return 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    highest = std::max(highest, result_number(it->path().filename().string()));
  }
  if (error) throw base::system_error("cannot list " + folder, error.value());
  return highest;
}

}  // namespace

std::int64_t result_number(std::string_view name) {
  if (!name.starts_with(kResultPrefix)) return 0;
  name.remove_prefix(kResultPrefix.size());
  std::int64_t number = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data(), last, number);
  const bool is_number = error == std::errc() && end != last && *end == '.';
  return is_number ? std::max<std::int64_t>(number, 0) : 0;
}

ResultFiles::ResultFiles(std::string folder, std::int64_t number,
                         std::unique_ptr<mllog::FileSink> log)
    : folder_(std::move(folder)), number_(number), log_(std::move(log)) {}

std::string ResultFiles::path(const char* ending) const {
  return fmt::format("{}/{}{}{}", folder_, kResultPrefix, number_, ending);
}

ResultFiles ResultFiles::claim(const std::string& folder) {
  base::make_folder(folder);
  const std::string owner = base::unique_token();
  const std::int64_t highest = std::max(highest_number(folder), highest_number(folder + kCutOff));
  for (std::int64_t before = highest;; ++before) {
    if (before == std::numeric_limits<std::int64_t>::max()) {
      throw base::DataError(
          fmt::format("{}: expected numbers of results that another can follow, found {}: move its "
                      "files away",
                      folder, before));
    }
    const std::int64_t number = before + 1;
    const std::string path = fmt::format("{}/{}{}.txt", folder, kResultPrefix, number);
    if (!base::create_exclusively(path, owner)) continue;  // another run was faster
    return {folder, number, std::make_unique<mllog::FileSink>(path, mllog::LogFile::kClaimed)};
  }
}

std::vector<std::int64_t> result_numbers(const std::string& folder) {
  std::vector<std::int64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::int64_t number = result_number(name);
    if (number > 0 && name == fmt::format("{}{}.txt", kResultPrefix, number)) {
      numbers.push_back(number);
    }
  }
  if (error) throw base::system_error("cannot list " + folder, error.value());
  return numbers;
}

void move_cut_off(const std::string& folder, std::int64_t number) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (result_number(it->path().filename().string()) == number) files.push_back(it->path());
  }
  if (files.empty()) return;
  base::make_folder(folder + kCutOff);
  for (const fs::path& file : files) {
    const fs::path target = fs::path(folder + kCutOff) / file.filename();
    fs::rename(file, target, error);
    const bool is_gone = error == std::errc::no_such_file_or_directory;
    if (error && !is_gone) {
      throw base::system_error(file.string() + ": cannot be moved to " + target.string(),
                               error.value());
    }
  }
}

}  // namespace runner

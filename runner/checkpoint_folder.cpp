// Folders of checkpoints and the names in them.
#include "runner/checkpoint_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/result_files.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointPrefix = "checkpoint_";
constexpr std::string_view kStep = "_step_";
constexpr std::string_view kEnding = ".h5";
constexpr std::string_view kPartEnding = ".h5.part";
constexpr std::string_view kRunEnding = ".checkpoints";

/// Removes the prefix `word` from `text`.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Parses "checkpoint_<number>_step_<steps><ending>".
std::optional<CheckpointFile> parse_name(std::string_view name, std::string_view ending) {
  CheckpointFile file;
  if (!take(name, kCheckpointPrefix)) return std::nullopt;
  const auto number = take_number(name);
  if (!number || !take(name, kStep)) return std::nullopt;
  const auto steps = take_number(name);
  if (!steps || name != ending) return std::nullopt;
  return CheckpointFile{"", *number, *steps};
}

/// Names in the folder; empty if there is no such folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  const bool is_none =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_none) {
    throw base::system_error("cannot list " + folder, error.value());
  }
  return names;
}

/// Folders of runs below `root`, the last run first.
std::vector<std::string> run_folders(const std::string& root) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& name : names_in(root)) {
    std::string_view rest = name;
    if (!take(rest, kResultPrefix)) continue;
    const auto number = take_number(rest);
    if (number && rest == kRunEnding) found.emplace_back(*number, root + "/" + name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> folders;
  for (auto& [number, path] : found) folders.push_back(std::move(path));
  return folders;
}

std::vector<std::string> newest_first(const std::string& folder) {
  std::vector<std::string> paths;
  for (CheckpointFile& file : list_checkpoints(folder)) paths.push_back(std::move(file.path));
  std::reverse(paths.begin(), paths.end());
  return paths;
}

/// What is at a path that leads to no checkpoint.
std::string found_in_place_of_checkpoint(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return "nothing";
  return S_ISREG(there.st_mode) || S_ISDIR(there.st_mode) ? "none"
                                                          : base::kind_in_words(there.st_mode);
}

}  // namespace

std::string checkpoint_path(const std::string& folder, std::int64_t number, std::int64_t steps) {
  return fmt::format("{}/{}{:04}{}{}{}", folder, kCheckpointPrefix, number, kStep, steps, kEnding);
}

std::string folder_of_run(const std::string& root, std::int64_t result_number) {
  return fmt::format("{}/{}{}{}", root, kResultPrefix, result_number, kRunEnding);
}

std::vector<CheckpointFile> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : names_in(folder)) {
    if (auto file = parse_name(name, kEnding)) {
      file->path = folder + "/" + name;
      files.push_back(std::move(*file));
    }
  }
  std::sort(files.begin(), files.end(), [](const CheckpointFile& a, const CheckpointFile& b) {
    return std::pair(a.number, a.steps) < std::pair(b.number, b.steps);
  });
  return files;
}

std::vector<std::string> saved_runs(const std::string& root) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  for (const std::string& folder : run_folders(root)) {
    const std::vector<CheckpointFile> files = list_checkpoints(folder);
    if (files.empty()) continue;
    std::error_code gone;  // the run may still be going and have pruned this file
    found.emplace_back(fs::last_write_time(files.back().path, gone), folder);
  }
  // Equal times: the later run first.
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> folders;
  for (auto& [time, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

std::vector<std::string> resume_candidates(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_regular_file(status)) return {path};
  if (fs::is_directory(status)) {
    std::vector<std::string> found = newest_first(path);
    if (!found.empty()) return found;
    for (const std::string& folder : run_folders(path)) {
      found = newest_first(folder);
      if (!found.empty()) return found;
    }
  }
  throw base::DataError(fmt::format(
      "--resume: {}: expected a checkpoint or a folder of checkpoints, found {}; a run begins "
      "without --resume",
      path, found_in_place_of_checkpoint(path)));
}

std::int64_t next_checkpoint_number(const std::string& folder) {
  const std::vector<CheckpointFile> files = list_checkpoints(folder);
  if (files.empty()) return 1;
  if (files.back().number < std::numeric_limits<std::int64_t>::max())
    return files.back().number + 1;
  throw base::DataError(
      fmt::format("{}: expected a number that another checkpoint can follow: move the file away",
                  files.back().path));
}

std::string prune_checkpoints(const std::string& folder, std::int64_t keep_last,
                              const std::function<bool(const std::string& name)>& is_whole) {
  try {
    std::vector<std::string> superfluous;
    for (const std::string& name : names_in(folder)) {
      if (parse_name(name, kPartEnding)) superfluous.push_back(folder + "/" + name);
    }
    std::int64_t kept = 0;
    for (const std::string& path : newest_first(folder)) {
      if (kept == keep_last) superfluous.push_back(path);
      if (kept < keep_last && is_whole(fs::path(path).filename().string())) ++kept;
    }
    for (const std::string& path : superfluous) fs::remove(path);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace runner

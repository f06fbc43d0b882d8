// The folder of a staged set: created under a temporary name, published by one rename, and deleted
// only through its manifest and when nobody uses it.
#include "staging/staged_folder.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "staging/output_file.h"
#include "staging/own_folder.h"
#include "staging/packed.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

/// In every folder that is unfinished or being removed. A folder without this file is never deleted
/// as a leftover.
constexpr const char* kBegunFile = "begun-by-trainmark";
constexpr const char* kBegunMark = ".part.";
constexpr int kMostNames = 1000;

/// Finds an unused name next to `directory`. Host name and process id alone may be taken: a process
/// of another container may have the same ones.
template <class Take>
std::string take_name(const std::string& directory, const std::string& mark, Take take) {
  for (int i = 0; i < kMostNames; ++i) {
    const std::string name =
        fmt::format("{}{}{}.{}{}", directory, mark, base::host_name(), ::getpid(),
                    i == 0 ? std::string() : fmt::format("-{}", i));
    if (take(name)) return name;
  }
  throw base::SystemError(fmt::format("{}{}: no name is free", directory, mark));
}

void remove_begun(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    throw base::SystemError(
        fmt::format("{}: cannot be removed: {}", folder.string(), error.message()));
  }
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Renames what is there to an unused name next to it. Returns the new name.
std::string rename_beside(const std::string& directory, const std::string& mark) {
  return take_name(directory, mark, [&](const std::string& name) {
    if (is_there(name)) return false;
    std::error_code error;
    fs::rename(directory, name, error);
    if (!error) return true;
    throw base::SystemError(
        fmt::format("{}: cannot be renamed to {}: {}", directory, name, error.message()));
  });
}

/// Removes a set, or renames anything else, from the place where a set is to be published.
void clear_away(const std::string& directory) {
  try {
    // Nothing is written or removed through a link, or where others may have put one.
    if (is_own_folder(directory)) return remove_folder(directory);
  } catch (const base::Error&) {
    // It is no set, or holds files of others; then it may have another name by now.
  }
  if (is_there(directory)) rename_beside(directory, ".not-staged.");
}

/// The folders in `directory` that only this user can change; none if it is not there. Throws
/// SystemError if it cannot be read.
std::vector<fs::path> entries_of(const std::string& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (is_own_folder(entry->path().string())) entries.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw base::system_error(directory + ": cannot be listed", error.value());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_begun(const fs::path& folder) {
  return folder.filename().string().find(kBegunMark) != std::string::npos;
}

/// Removes unfinished folders of dead processes.
void remove_begun_leftovers(const std::string& directory) {
  for (const fs::path& folder : entries_of(directory)) {
    if (!is_begun(folder) || !fs::exists(folder / kBegunFile)) continue;
    auto use = FolderUse::of(folder.string());
    std::error_code error;  // what cannot be removed is no obstacle
    if (use && use->try_lock_exclusive()) fs::remove_all(folder, error);
  }
}

template <class Wanted>
void remove_sets(const std::string& directory, Wanted wanted) {
  for (const fs::path& folder : entries_of(directory)) {
    if (is_begun(folder)) continue;
    auto use = FolderUse::of(folder.string());
    try {
      if (use && wanted(read_manifest(folder.string())) && use->try_lock_exclusive()) {
        remove_folder(folder.string());
      }
    } catch (const base::Error&) {
      // No trustworthy manifest, or files that it does not name: not ours to delete.
    }
  }
}

}  // namespace

FolderUse begin_folder(const std::string& final_directory) {
  const std::string folder = take_name(final_directory, kBegunMark, create_own_folder);
  FolderUse use = FolderUse::in_new_folder(folder);
  OutputFile(folder + "/" + kBegunFile).finish();
  return use;
}

std::optional<FolderUse> use_staged_set(const std::string& directory, const std::string& identity) {
  auto use = FolderUse::of(directory);
  if (use && holds_staged_set(directory, identity)) return use;
  return std::nullopt;
}

FolderUse publish_folder(FolderUse begun, const std::string& final_directory,
                         const std::string& identity) {
  constexpr int kMostTries = 100;  // each failure: another run published just then
  for (int i = 0; i < kMostTries; ++i) {
    if (auto use = use_staged_set(final_directory, identity)) {
      remove_begun(begun.folder());
      return std::move(*use);
    }
    if (is_there(final_directory)) clear_away(final_directory);
    std::error_code error;
    fs::rename(begun.folder(), final_directory, error);
    if (error && !is_there(final_directory)) {
      throw base::SystemError(fmt::format("{}: cannot be renamed to {}: {}", begun.folder(),
                                          final_directory, error.message()));
    }
    if (error) continue;
    begun.set_folder(final_directory);
    // Only now: if the process dies before this, the folder can be removed as a leftover.
    fs::remove(final_directory + "/" + kBegunFile, error);
    sync_folder(fs::path(final_directory).parent_path().string());
    return begun;
  }
  throw base::SystemError(final_directory + ": other runs replace it again and again");
}

void keep_set(const std::string& directory) {
  Manifest manifest = read_manifest(directory);
  if (manifest.is_kept) return;
  manifest.is_kept = true;
  write_manifest(directory, manifest);
}

void remove_folder(const std::string& directory) {
  if (!fs::exists(directory)) return;  // another job on this node was faster
  const Manifest manifest = read_manifest(directory);
  // Once renamed, the set is a leftover that any later run removes, whatever happens to this
  // process.
  std::ofstream(fs::path(directory) / kBegunFile).flush();
  const std::string doomed = rename_beside(directory, kBegunMark);
  std::error_code error;
  for (const PackedPart& part : manifest.parts) {
    fs::remove(doomed + "/" + part.file, error);
    fs::remove(doomed + "/" + part.index_file, error);
  }
  for (const char* file : {kManifestFile, kDamagedFile, FolderUse::kLockFile, kBegunFile}) {
    fs::remove(doomed + "/" + file, error);
  }
  fs::remove(doomed, error);
  if (fs::exists(doomed)) {
    throw base::SystemError(fmt::format(
        "{}: not removed: it holds files that its manifest does not name, or may not be written",
        doomed));
  }
}

void leave_folder(FolderUse use) {
  if (fs::exists(use.folder() + "/" + kBegunFile)) return remove_begun(use.folder());
  try {
    const bool is_whole = !fs::exists(use.folder() + "/" + kDamagedFile);
    if (is_whole && read_manifest(use.folder()).is_kept) return;
    if (use.try_lock_exclusive()) remove_folder(use.folder());
  } catch (const base::Error&) {
    // Without its manifest nothing may be deleted, nor files of others.
  }
}

void remove_leftovers(const std::string& directory) {
  try {
    remove_begun_leftovers(directory);
    remove_sets(directory, [](const Manifest& manifest) { return !manifest.is_kept; });
  } catch (const base::SystemError&) {
    // A folder that cannot be listed is no obstacle for this run, which needs no clean-up.
  }
}

nlohmann::json to_json(const StagedFolder& folder) {
  return {{"directory", folder.directory},
          {"source", folder.manifest.source},
          {"samples", folder.manifest.samples},
          {"bytes", folder.manifest.bytes},
          {"made_by", folder.manifest.made_by},
          {"is_kept", folder.manifest.is_kept},
          {"is_used", folder.is_used},
          {"is_removed", folder.is_removed},
          {"damage", folder.damage}};
}

std::vector<StagedFolder> list_staged(const std::string& directory) {
  std::vector<StagedFolder> found;
  for (const fs::path& folder : entries_of(directory)) {
    if (is_begun(folder)) continue;
    try {
      StagedFolder one{folder.string(), read_manifest(folder.string())};
      auto use = FolderUse::of(one.directory);
      // try_lock_exclusive() keeps others out, but `use` releases the lock at the end of this
      // block.
      one.is_used = !use || !use->try_lock_exclusive();
      if (fs::exists(folder / kDamagedFile)) one.damage = "a sample was found damaged";
      found.push_back(std::move(one));
    } catch (const base::DataError&) {
      // Not a set.
    }
  }
  return found;
}

std::vector<StagedFolder> verify_staged(const std::string& directory) {
  std::vector<StagedFolder> found = list_staged(directory);
  base::Activity nobody_watches;
  for (StagedFolder& folder : found) {
    const auto use = FolderUse::of(folder.directory);  // so that nobody removes it meanwhile
    if (use) folder.damage = find_damage(folder.directory, nobody_watches);
  }
  return found;
}

std::vector<StagedFolder> remove_all_unused(const std::string& directory) {
  std::vector<StagedFolder> found = list_staged(directory);
  remove_begun_leftovers(directory);
  remove_sets(directory, [](const Manifest&) { return true; });
  for (StagedFolder& folder : found) folder.is_removed = !fs::exists(folder.directory);
  return found;
}

}  // namespace staging

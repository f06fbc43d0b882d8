// The folder of a staged set: from its beginning to its end.
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
#include "staging/pack_store.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

/// In every folder that is being created or removed. A folder without this file is never deleted
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

/// Removes a set, or renames anything else, from the place where a set is to begin. Returns what
/// people should know of that; else "".
std::string clear_away(const std::string& directory) {
  std::string problem = "it is no folder that only this user can change";
  try {
    // Nothing is written or removed through a link, or where others may have put one.
    if (is_own_folder(directory)) {
      remove_folder(directory);
      return "";
    }
  } catch (const base::Error& e) {
    problem = e.what();  // It is no set, or holds files of others; it may have another name by now.
  }
  if (!is_there(directory)) return "";
  return fmt::format("{}: expected a staged set, found something else, which is now {}: {}",
                     directory, rename_beside(directory, ".not-staged."), problem);
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

/// Of a set of this format or an earlier one. Throws DataError if there is neither.
SetRecord any_record(const std::string& folder) {
  return is_there(folder + "/" + kBegunRecord) ? read_record(folder) : read_former_record(folder);
}

template <class Wanted>
void remove_sets(const std::string& directory, Wanted wanted) {
  for (const fs::path& folder : entries_of(directory)) {
    if (is_begun(folder)) continue;
    auto use = FolderUse::of(folder.string());
    try {
      if (use && wanted(any_record(folder.string())) && use->try_lock_exclusive()) {
        remove_folder(folder.string());
      }
    } catch (const base::Error&) {
      // No trustworthy record, or files that it does not lead to: not ours to delete.
    }
  }
}

/// Whether a file in the folder of this set is one that this program wrote.
bool is_of_set(const std::string& name, const SetRecord& record) {
  for (const char* own :
       {kBegunRecord, kPacksRecord, FolderUse::kLockFile, kBegunFile, kFormerDamageMark}) {
    if (name == own) return true;
  }
  if (record.is_former()) return is_former_part(name);
  const auto number = number_of_pack_file(name);
  return number && *number < record.packs;
}

/// begin_passing_folder() with a record in it.
FolderUse begin_folder(const std::string& directory, const SetRecord& record) {
  FolderUse use = begin_passing_folder(directory);
  try {
    write_record(use.folder(), record);
  } catch (const base::Error&) {
    remove_begun(use.folder());
    throw;
  }
  return use;
}

/// Compares what is there with the list of packs. Sets counts and the first damage.
void look_at_packs(StagedFolder& folder) {
  const PackStore store(folder.directory, folder.record);
  const std::vector<bool> have = store.have();
  for (std::int64_t number = 0; number < std::ssize(have); ++number) {
    if (!have[static_cast<std::size_t>(number)]) continue;
    const PackFacts facts = check_trailer(dataset::File(store.path(number)), store.name(number));
    folder.samples += facts.samples;
    folder.bytes += facts.bytes;
  }
  folder.is_complete = is_there(folder.directory + "/" + kPacksRecord);
  if (!folder.is_complete) return;
  for (const PackRecord& pack : read_pack_records(folder.directory, folder.record)) {
    if (have[static_cast<std::size_t>(pack.number)]) continue;
    folder.damage = fmt::format("{}: not there, or not whole", store.path(pack.number));
    return;
  }
}

StagedFolder look_at_folder(const std::string& directory) {
  StagedFolder found{directory, any_record(directory)};
  if (found.record.is_former()) {
    found.samples = found.record.samples;
    found.bytes = found.record.bytes;
    found.is_complete = true;
    return found;
  }
  try {
    look_at_packs(found);
  } catch (const base::DataError& e) {
    found.damage = e.what();
  }
  return found;
}

/// Reads all packs in full and sets the first damage. Returns the damaged packs.
std::vector<std::string> find_damaged_packs(StagedFolder& folder) {
  const PackStore store(folder.directory, folder.record);
  std::vector<std::string> damaged;
  const std::vector<bool> have = store.have();
  for (std::int64_t number = 0; number < std::ssize(have); ++number) {
    if (!have[static_cast<std::size_t>(number)]) continue;
    const std::string damage = store.find_damage(number);
    if (damage.empty()) continue;
    damaged.push_back(store.path(number));
    if (folder.damage.empty()) folder.damage = damage;
  }
  return damaged;
}

}  // namespace

FolderUse begin_passing_folder(const std::string& name) {
  const std::string folder = take_name(name, kBegunMark, create_own_folder);
  try {
    FolderUse use = FolderUse::in_new_folder(folder);
    OutputFile(folder + "/" + kBegunFile).finish();
    return use;
  } catch (const base::Error&) {
    remove_passing_folder(folder);
    throw;
  }
}

void remove_passing_folder(const std::string& folder) noexcept {
  std::error_code error;
  fs::remove_all(folder, error);
}

std::optional<FolderUse> use_set(const std::string& directory, const std::string& identity) {
  if (!is_own_folder(directory)) return std::nullopt;
  auto use = FolderUse::of(directory);
  try {
    if (use && read_record(directory).identity == identity) return use;
  } catch (const base::DataError&) {
    // Another format, or no set.
  }
  return std::nullopt;
}

FolderUse begin_set(const std::string& directory, const SetRecord& record, std::string* set_aside) {
  constexpr int kMostTries = 100;  // each failure: another run began just then
  for (int i = 0; i < kMostTries; ++i) {
    if (auto use = use_set(directory, record.identity)) return std::move(*use);
    const std::string told = is_there(directory) ? clear_away(directory) : "";
    if (set_aside != nullptr && !told.empty()) *set_aside = told;
    FolderUse begun = begin_folder(directory, record);
    std::error_code error;
    fs::rename(begun.folder(), directory, error);
    if (!error) {
      begun.set_folder(directory);
      // Only now: if the process dies before this, the folder can be removed as a leftover.
      fs::remove(directory + "/" + kBegunFile, error);
      sync_folder(fs::path(directory).parent_path().string());
      return begun;
    }
    remove_begun(begun.folder());
    if (!is_there(directory)) {
      throw base::SystemError(fmt::format("{}: cannot be renamed to {}: {}", begun.folder(),
                                          directory, error.message()));
    }
  }
  throw base::SystemError(directory + ": other runs replace it again and again");
}

std::vector<std::int64_t> missing_packs(const std::string& directory, const std::string& identity,
                                        const std::vector<std::int64_t>& packs,
                                        std::string* damage) {
  const auto use = use_set(directory, identity);
  if (!use) return packs;
  const std::vector<bool> have = PackStore::of(directory).have(damage);
  std::vector<std::int64_t> missing;
  for (const std::int64_t number : packs) {
    if (number >= std::ssize(have) || !have[static_cast<std::size_t>(number)]) {
      missing.push_back(number);
    }
  }
  return missing;
}

void keep_set(const std::string& directory) {
  SetRecord record = read_record(directory);
  if (record.is_kept) return;
  record.is_kept = true;
  write_record(directory, record);
}

void remove_folder(const std::string& directory) {
  if (!fs::exists(directory)) return;  // another job on this node was faster
  const SetRecord record = any_record(directory);
  // Once renamed, the set is a leftover that any later run removes, whatever happens to this
  // process.
  std::ofstream(fs::path(directory) / kBegunFile).flush();
  const std::string doomed = rename_beside(directory, kBegunMark);
  std::vector<fs::path> own;
  std::error_code error;
  for (fs::directory_iterator entry(doomed, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_of_set(entry->path().filename().string(), record)) own.push_back(entry->path());
  }
  // What marks it as a leftover goes last: this process may be killed at any file.
  std::ranges::stable_partition(own, [](const fs::path& file) {
    return file.filename() != kBegunFile && file.filename() != FolderUse::kLockFile;
  });
  for (const fs::path& file : own) fs::remove(file, error);
  fs::remove(doomed, error);
  if (fs::exists(doomed)) {
    throw base::SystemError(fmt::format(
        "{}: not removed: it holds files that are not of its set, or may not be written", doomed));
  }
}

void leave_folder(FolderUse use) {
  try {
    if (any_record(use.folder()).is_kept) return;
    if (use.try_lock_exclusive()) remove_folder(use.folder());
  } catch (const base::Error&) {
    // Without its record nothing may be deleted, nor files of others.
  }
}

void remove_leftovers(const std::string& directory) {
  try {
    remove_begun_leftovers(directory);
    remove_sets(directory, [](const SetRecord& record) { return !record.is_kept; });
  } catch (const base::SystemError&) {
    // A folder that cannot be listed is no obstacle for this run, which needs no clean-up.
  }
}

nlohmann::json to_json(const StagedFolder& folder) {
  return {{"directory", folder.directory},     {"source", folder.record.source},
          {"samples", folder.samples},         {"bytes", folder.bytes},
          {"made_by", folder.record.made_by},  {"is_kept", folder.record.is_kept},
          {"is_complete", folder.is_complete}, {"is_used", folder.is_used},
          {"is_removed", folder.is_removed},   {"damage", folder.damage}};
}

std::vector<StagedFolder> list_staged(const std::string& directory) {
  std::vector<StagedFolder> found;
  for (const fs::path& folder : entries_of(directory)) {
    if (is_begun(folder)) continue;
    try {
      StagedFolder one = look_at_folder(folder.string());
      auto use = FolderUse::of(one.directory);
      // try_lock_exclusive() keeps others out, but `use` releases the lock at the end of this
      // block.
      one.is_used = !use || !use->try_lock_exclusive();
      found.push_back(std::move(one));
    } catch (const base::DataError&) {
      // Not a set.
    }
  }
  return found;
}

std::vector<StagedFolder> verify_staged(const std::string& directory) {
  std::vector<StagedFolder> found = list_staged(directory);
  for (StagedFolder& folder : found) {
    if (folder.record.is_former()) continue;
    auto use = FolderUse::of(folder.directory);  // so that nobody removes it meanwhile
    if (!use) continue;
    const std::vector<std::string> damaged = find_damaged_packs(folder);
    if (damaged.empty() || !use->try_lock_exclusive()) continue;
    std::error_code error;  // what cannot be removed is found damaged when it is read
    for (const std::string& path : damaged) fs::remove(path, error);
  }
  return found;
}

std::vector<StagedFolder> remove_all_unused(const std::string& directory) {
  std::vector<StagedFolder> found = list_staged(directory);
  remove_begun_leftovers(directory);
  remove_sets(directory, [](const SetRecord&) { return true; });
  for (StagedFolder& folder : found) folder.is_removed = !fs::exists(folder.directory);
  return found;
}

}  // namespace staging

// The folder of a staged set: it appears under its name with its record, can be completed by any
// later run, and only what this program wrote into it is ever deleted, when nobody uses it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "staging/folder_use.h"
#include "staging/set_record.h"

namespace staging {

/// The use of the set of this identity in `directory`, complete or not; nullopt if there is none
/// that only this user can change.
std::optional<FolderUse> use_set(const std::string& directory, const std::string& identity);

/// use_set(), or else that of a new folder, which no other user may read, with the record in it. A
/// set of another identity there is removed; anything that is no set, or that others may write to,
/// is renamed, and `set_aside` tells that. Throws SystemError.
FolderUse begin_set(const std::string& directory, const SetRecord& record,
                    std::string* set_aside = nullptr);

/// Those of `packs` that are not in the set of this identity in `directory` (PackStore::have()):
/// all if there is no such set that only this user can change. `damage` as in PackStore::have().
std::vector<std::int64_t> missing_packs(const std::string& directory, const std::string& identity,
                                        const std::vector<std::int64_t>& packs,
                                        std::string* damage = nullptr);

/// Keeps the set for later runs: from now on only remove_all_unused() deletes it. Throws DataError,
/// SystemError.
void keep_set(const std::string& directory);

/// Deletes the packs and records of a set, and the folder if it is then empty. Throws SystemError
/// if it is not. Without a record it throws DataError and deletes nothing.
void remove_folder(const std::string& directory);

/// Ends a use. Removes the set, complete or not, unless it is kept, another process uses it, or it
/// holds files of others.
void leave_folder(FolderUse use);

/// Deletes what this user's dead jobs left in `directory`: sets that are neither used nor kept.
void remove_leftovers(const std::string& directory);

/// A staged set in a staging directory.
struct StagedFolder {
  std::string directory;
  SetRecord record;
  std::int64_t samples = 0, bytes = 0;  ///< of the packs that are there
  bool is_complete = false;             ///< for the run that staged it
  bool is_used = false, is_removed = false;
  std::string damage = {};  ///< what is known of it; else ""
};
nlohmann::json to_json(const StagedFolder& folder);
/// All sets that only this user can change, sorted by name.
std::vector<StagedFolder> list_staged(const std::string& directory);

/// list_staged(), after reading every pack in full. Removes damaged ones, unless a process uses the
/// set, so that the next run that needs them copies them anew; a process that uses them repairs
/// them.
std::vector<StagedFolder> verify_staged(const std::string& directory);

/// Deletes every set in `directory` that nobody uses, kept or not, and the unfinished folders of
/// dead processes. Returns the sets that were there.
std::vector<StagedFolder> remove_all_unused(const std::string& directory);

/// A new private folder for this process alone, whose name begins with `name`. remove_leftovers()
/// removes it once the process has ended. Throws SystemError.
FolderUse begin_passing_folder(const std::string& name);
/// Removes such a folder, as far as that is possible.
void remove_passing_folder(const std::string& folder) noexcept;

}  // namespace staging

// The folder of a staged set: created under a temporary name, published by one rename, and deleted
// only through its manifest and when nobody uses it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "staging/folder_use.h"
#include "staging/manifest.h"

namespace staging {

/// Creates a folder next to `final_directory`, named after it, this host and this process, that no
/// other user may read; it is not taken for a staged set. Throws SystemError.
FolderUse begin_folder(const std::string& final_directory);

/// Renames the new folder to `final_directory`. If another run was faster and a complete set of
/// this identity is already there, that one is kept. A damaged set there is removed; anything
/// without a manifest, or that others may write to, is renamed. Returns the use of the folder now
/// at `final_directory`. Throws SystemError.
FolderUse publish_folder(FolderUse begun, const std::string& final_directory,
                         const std::string& identity);

/// The use of the complete set of this identity in `directory`; nullopt if there is none that only
/// this user can change.
std::optional<FolderUse> use_staged_set(const std::string& directory, const std::string& identity);

/// Keeps the set for later runs: from now on, unless it is damaged, only remove_all_unused()
/// deletes it. Throws DataError, SystemError.
void keep_set(const std::string& directory);

/// Deletes the files named by the manifest, the manifest, and the folder if it is then empty.
/// Without a manifest it throws DataError and deletes nothing.
void remove_folder(const std::string& directory);

/// Ends a use. Removes an unfinished folder with everything in it; and a set unless it is kept and
/// undamaged, another process uses it, or it holds files that its manifest does not name.
void leave_folder(FolderUse use);

/// Deletes what this user's dead jobs left in `directory`: unfinished folders, and complete sets
/// that are neither used nor kept.
void remove_leftovers(const std::string& directory);

/// A staged set in a staging directory.
struct StagedFolder {
  std::string directory;
  Manifest manifest;
  bool is_used = false, is_removed = false;
  std::string damage = {};  ///< what is known of it; else ""
};
nlohmann::json to_json(const StagedFolder& folder);
/// All sets that only this user can change, sorted by name.
std::vector<StagedFolder> list_staged(const std::string& directory);

/// list_staged(), after reading every set in full. Marks damaged ones, which the next run that
/// needs them copies anew.
std::vector<StagedFolder> verify_staged(const std::string& directory);

/// Deletes every set in `directory` that nobody uses, kept or not, and the unfinished folders of
/// dead processes. Returns the sets that were there.
std::vector<StagedFolder> remove_all_unused(const std::string& directory);

}  // namespace staging

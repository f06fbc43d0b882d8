// The life of a staged set's folder: begun under a name of its own, made visible by one rename,
// deleted only by its manifest and when nobody uses it.
// Hides names, and what dead processes leave.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "staging/folder_use.h"
#include "staging/manifest.h"

namespace staging {

/// A new folder beside `final_directory`, named after it, this host and this process, which nobody
/// takes for a staged set. Throws SystemError.
FolderUse begin_folder(const std::string& final_directory);

/// Deletes a folder that begin_folder() gave, with all that is in it.
void abandon_folder(FolderUse begun);

/// Renames the folder begun to `final_directory`. A whole set of this identity already there wins
/// (another run was faster). A damaged one is removed; what has no manifest, and so may be
/// anything, is renamed. Gives the use of the folder that is there now. Throws SystemError.
FolderUse publish_folder(FolderUse begun, const std::string& final_directory,
                         const std::string& identity);

/// The use of the whole set of this identity in `directory`; nullopt where there is none.
std::optional<FolderUse> use_staged_set(const std::string& directory, const std::string& identity);

/// Has later runs find the set, which nobody then removes but by hand. Throws DataError,
/// SystemError.
void keep_set(const std::string& directory);

/// Deletes what the manifest names, the manifest, and the folder if nothing else is in it. Throws
/// DataError, touching nothing, when there is no manifest.
void remove_folder(const std::string& directory);

/// Ends a use: the set goes with it unless it is to be kept (and is whole) or another process uses
/// it.
void leave_folder(FolderUse use);

/// Deletes in `directory` what dead jobs left: folders begun, and whole sets that nobody uses and
/// that are not to be kept.
void remove_leftovers(const std::string& directory);

/// A folder in a staging directory.
struct StagedFolder {
  std::string directory;
  Manifest manifest;
  bool is_used = false, is_removed = false;
};
nlohmann::json to_json(const StagedFolder& folder);
/// All that have a manifest, by name.
std::vector<StagedFolder> list_staged(const std::string& directory);

/// Deletes every set in `directory` that nobody uses, kept or not, and folders that dead processes
/// began. Gives what sets there were.
std::vector<StagedFolder> remove_all_unused(const std::string& directory);

}  // namespace staging

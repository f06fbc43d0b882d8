// The life of a staged set's folder: begun under a name of its own, made visible by one rename,
// deleted only by its manifest. Hides names, leftovers of processes that died, and their removal.
#pragma once

#include <string>

namespace staging {

/// A new folder beside `final_directory`, named after it, this host and this process, which nobody
/// takes for a staged set. Throws SystemError.
std::string begin_folder(const std::string& final_directory);

/// Renames `folder` to `final_directory`. A whole set of this identity already there wins (another
/// run was faster); a damaged one with a manifest is removed. Throws DataError when something
/// without a manifest is in the way.
void publish_folder(const std::string& folder, const std::string& final_directory,
                    const std::string& identity);

/// Deletes what the manifest names, the manifest, and the folder if nothing else is in it. Throws
/// DataError, touching nothing, when there is no manifest.
void remove_folder(const std::string& directory);

/// Deletes folders begun in `directory` by processes of this host that no longer live.
void remove_leftovers(const std::string& directory);

}  // namespace staging

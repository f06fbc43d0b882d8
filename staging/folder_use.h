// A shared lock that marks a staged folder as in use. The kernel releases it however the process
// ends.
#pragma once

#include <optional>
#include <string>

#include "runner/base/descriptor.h"

namespace staging {

/// While this object lives, no other process may remove the folder. One process of a node holds it
/// for all.
class FolderUse {
 public:
  /// The lock file: in every staged folder, from its creation on.
  static constexpr const char* kLockFile = "in-use.lock";

  /// Creates the lock in a new folder. Throws SystemError.
  static FolderUse in_new_folder(const std::string& folder);
  /// nullopt when the folder does not exist, has no lock, or is being removed.
  static std::optional<FolderUse> of(const std::string& folder);

  const std::string& folder() const { return folder_; }
  /// Call after renaming the folder.
  void set_folder(std::string folder) { folder_ = std::move(folder); }
  /// Whether no other process uses the folder; if so, none can begin to from now on. False also
  /// when this cannot be known: on a file system without locks, or when another folder now has this
  /// path.
  bool try_lock_exclusive();

 private:
  FolderUse(std::string folder, base::Descriptor lock);
  bool is_in_place() const;

  std::string folder_;
  base::Descriptor lock_;
};

}  // namespace staging

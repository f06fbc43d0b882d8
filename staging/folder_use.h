// Who uses a staged folder: a lock that ends with its process, whatever that dies of.
// Hides where the lock lies, and file systems that have none.
#pragma once

#include <optional>
#include <string>

#include "runner/base/descriptor.h"

namespace staging {

/// While it lives, nobody else may remove the folder. One process of a node holds it for all.
class FolderUse {
 public:
  /// In every folder that is staged or begun.
  static constexpr const char* kLockFile = "in-use.lock";

  /// Makes the lock in a folder that was just made. Throws SystemError.
  static FolderUse in_new_folder(const std::string& folder);
  /// nullopt where the folder is not there, has no lock, or is being removed.
  static std::optional<FolderUse> of(const std::string& folder);

  const std::string& folder() const { return folder_; }
  /// After a rename.
  void set_folder(std::string folder) { folder_ = std::move(folder); }
  /// Whether no other process uses the folder; from then on none can begin to. False also where
  /// that cannot be known: on a file system without locks, or when another folder is there now.
  bool take_alone();

 private:
  FolderUse(std::string folder, base::Descriptor lock);
  bool is_in_place() const;

  std::string folder_;
  base::Descriptor lock_;
};

}  // namespace staging

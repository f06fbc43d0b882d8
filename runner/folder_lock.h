// Only one run at a time writes a folder of checkpoints.
// Hides the lock file, file systems without locks, and owners that died.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/descriptor.h"

namespace runner {

/// The run that writes a folder.
struct FolderOwner {
  std::string host;
  std::int64_t process = 0;
  /// Its result_<n>.live.json, by which other hosts see that it lives; empty: not there yet.
  std::string live_file;
};

/// What is there: a folder that is ours now, or whose it is.
class FolderLock {
 public:
  /// Longest time to watch for a sign of life of an owner on another host.
  static constexpr double kPatienceS = 8.0;

  /// Makes and takes `folder`. Null where a live run has it, which `other` then is. An owner that
  /// died on this host is found dead at once, one on another host when its live file stands still
  /// for `patience_s`, also where the file system keeps its lock. Throws SystemError.
  static std::unique_ptr<FolderLock> take(const std::string& folder, const FolderOwner& mine,
                                          FolderOwner& other, double patience_s = kPatienceS);
  /// Gives it back.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  const std::string& folder() const { return folder_; }
  /// Tells where this run's live file is. Throws SystemError.
  void set_live_file(const std::string& path);
  /// Throws SystemError when another run has taken the folder, as it may when it saw no sign of
  /// life of this one.
  void require_ours() const;

 private:
  FolderLock(std::string folder, base::Descriptor file, FolderOwner mine);
  std::string folder_;
  base::Descriptor file_;
  FolderOwner mine_;
};

/// "process 123 on host node7".
std::string to_string(const FolderOwner& owner);

}  // namespace runner

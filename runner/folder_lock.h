// Lets only one run at a time write to a folder of checkpoints, including on file systems without
// locks and after an owner died.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runner/base/descriptor.h"
#include "runner/base/process_state.h"

namespace runner {

/// The run that writes a folder.
struct FolderOwner {
  std::string host;
  std::int64_t process = 0;
  /// its result_<n>.live.json, from which other hosts see that it lives; empty: not there yet
  std::string live_file;
  std::uint64_t start_ticks = 0;  ///< see base::ProcessIdentity
  std::string kernel = "";

  base::ProcessIdentity identity() const { return {process, start_ticks, kernel}; }
};

/// Exclusive ownership of a checkpoint folder.
class FolderLock {
 public:
  /// Longest time to watch for a sign of life of an owner on another host.
  static constexpr double kPatienceS = 8.0;

  /// Creates and locks `folder`. Returns null if a live run owns it, and sets `other` to that run.
  /// A dead owner on this kernel is detected at once. One elsewhere, also in another container, if
  /// the file system has no locks, is taken for dead if its live file does not change for
  /// `patience_s`, even if the file system still holds its lock.
  /// Throws SystemError.
  static std::unique_ptr<FolderLock> take(const std::string& folder, const FolderOwner& mine,
                                          FolderOwner& other, double patience_s = kPatienceS);
  /// The live run that owns `folder`, judged as by take(), without taking or changing anything;
  /// nothing if there is none.
  static std::optional<FolderOwner> live_owner(const std::string& folder,
                                               double patience_s = kPatienceS);
  /// Releases the folder.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  const std::string& folder() const { return folder_; }
  /// Records the path of this run's live file. Throws SystemError.
  void set_live_file(const std::string& path);
  /// Throws SystemError if another run has taken the folder, which it may do after seeing no sign
  /// of life from this one.
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

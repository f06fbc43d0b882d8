// A shared lock that marks a staged folder as in use.
#include "staging/folder_use.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "runner/base/error.h"

namespace staging {
namespace {

/// A lock, not a process id: processes of different containers may share process id and host name.
/// The kernel releases a lock however its owner ends.
bool lock(const base::Descriptor& file, int kind) {
  return ::flock(file.get(), kind | LOCK_NB) == 0;
}

base::Descriptor open_lock(const std::string& folder, int flags) {
  const std::string path = folder + "/" + FolderUse::kLockFile;
  return base::Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0644));
}

}  // namespace

FolderUse::FolderUse(std::string folder, base::Descriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

FolderUse FolderUse::in_new_folder(const std::string& folder) {
  base::Descriptor file = open_lock(folder, O_CREAT | O_EXCL);
  if (!file) throw base::system_error(folder + "/" + kLockFile + ": cannot be created", errno);
  lock(file, LOCK_SH);
  return {folder, std::move(file)};
}

std::optional<FolderUse> FolderUse::of(const std::string& folder) {
  base::Descriptor file = open_lock(folder, 0);
  if (!file) return std::nullopt;
  // A process with an exclusive lock is removing the folder.
  if (!lock(file, LOCK_SH) && errno == EWOULDBLOCK) return std::nullopt;
  FolderUse use(folder, std::move(file));
  if (!use.is_in_place()) return std::nullopt;
  return use;
}

bool FolderUse::is_in_place() const {
  struct stat held {
  }, there{};
  const std::string path = folder_ + "/" + kLockFile;
  return ::fstat(lock_.get(), &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

bool FolderUse::try_lock_exclusive() { return lock(lock_, LOCK_EX) && is_in_place(); }

}  // namespace staging

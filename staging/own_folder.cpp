// Folders that only this user can change.
#include "staging/own_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/make_folder.h"

namespace staging {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr const char* kRemedy = "choose another folder by --set staging.directory=FOLDER";

/// nullopt if nothing is there. Throws SystemError.
template <class Look>
std::optional<struct stat> status_of(const std::string& path, Look look) {
  struct stat facts {};
  if (look(path.c_str(), &facts) == 0) return facts;
  if (errno == ENOENT) return std::nullopt;
  throw base::system_error(path + ": cannot be examined", errno);
}

void require_trusted_owner(const std::string& directory, uid_t owner) {
  if (owner == ::geteuid() || owner == 0) return;
  throw base::SystemError(fmt::format(
      "{}: expected a folder of this user (uid {}) or of root, found one of uid {}, who "
      "could replace staged samples; {}, for instance one in it",
      directory, ::geteuid(), owner, kRemedy));
}

/// Whether another user has put something at `path`.
bool is_taken_by_another(const std::string& path) {
  const auto found = status_of(path, ::lstat);
  return found && found->st_uid != ::geteuid();
}

}  // namespace

void check_staging_directory(const std::string& directory) {
  const auto entry = status_of(directory, ::lstat);
  if (!entry) return;
  require_trusted_owner(directory, entry->st_uid);
  const auto folder = status_of(directory, ::stat);
  if (!folder || !S_ISDIR(folder->st_mode)) {
    throw base::SystemError(
        fmt::format("{}: expected a folder for staged copies; {}", directory, kRemedy));
  }
  require_trusted_owner(directory, folder->st_uid);
  const bool is_open = (folder->st_mode & S_IWOTH) != 0,
             is_sticky = (folder->st_mode & S_ISVTX) != 0;
  if (is_open && !is_sticky) {
    throw base::SystemError(
        fmt::format("{}: every user may write to this folder and could replace staged samples; "
                    "chmod o-w or chmod +t it, or {}",
                    directory, kRemedy));
  }
}

void make_staging_directory(const std::string& directory) {
  const auto parent = std::filesystem::path(directory).parent_path();
  if (!parent.empty()) base::make_folder(parent.string());
  create_own_folder(directory);
  check_staging_directory(directory);
}

bool is_own_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool create_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kPrivate) == 0) return true;
  if (errno == EEXIST) return false;
  throw base::system_error(path + ": cannot be created", errno);
}

std::string name_for_this_user(const std::string& path) {
  if (!is_taken_by_another(path)) return path;
  std::string own = fmt::format("{}-{}", path, ::geteuid());
  if (!is_taken_by_another(own)) return own;
  throw base::SystemError(fmt::format(
      "{}: expected this name to be free, found that of another user, who has taken {} as well; {}",
      own, path, kRemedy));
}

}  // namespace staging

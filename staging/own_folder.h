// Folders that only this user can change: who can write to a staged copy decides what is trained
// on.
#pragma once

#include <string>

namespace staging {

/// Creates `directory` for staged copies if it is missing, with mode 0700, and checks it as
/// check_staging_directory() does. Throws SystemError.
void make_staging_directory(const std::string& directory);

/// Throws SystemError unless `directory` is missing, or a folder of this user or of root's that
/// others may not write to (but in a folder with the sticky bit, such as /tmp, they may create
/// files). A link to such a folder is accepted from the same users.
void check_staging_directory(const std::string& directory);

/// Whether `path` is a folder, and no link, that this user owns and nobody else may write to.
bool is_own_folder(const std::string& path);

/// Creates a folder of mode 0700. Returns false if the name is taken. Throws SystemError.
bool create_own_folder(const std::string& path);

/// `path`, or if another user has taken that name, `path` with this user's id appended. Throws
/// SystemError if both are taken.
std::string name_for_this_user(const std::string& path);

}  // namespace staging

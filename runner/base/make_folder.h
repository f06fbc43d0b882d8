// Creates folders.
#pragma once

#include <string>

namespace base {

/// Creates missing parents too; an existing folder is left as is. Throws SystemError with path and
/// reason.
void make_folder(const std::string& path);

}  // namespace base

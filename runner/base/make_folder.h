// Makes folders.
// Hides nothing.
#pragma once

#include <string>

namespace base {

/// With those that it lies in; one that is there stays. Throws SystemError with path and reason.
void make_folder(const std::string& path);

}  // namespace base

// Errors that come from the operating system.
// Hides how an errno value becomes text.
#include "runner/base/error.h"

#include <system_error>

namespace base {

SystemError system_error(const std::string& message, int error_number) {
  return SystemError(message + ": " + std::generic_category().message(error_number));
}

}  // namespace base

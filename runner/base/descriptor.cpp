// Closes file descriptors.
#include "runner/base/descriptor.h"

#include <unistd.h>

namespace base {

void DescriptorTraits::close(Raw raw) { ::close(raw); }

}  // namespace base

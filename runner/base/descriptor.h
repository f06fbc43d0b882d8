// Sole ownership of a file descriptor: files, sockets, event counters.
#pragma once

#include "runner/base/unique_handle.h"

namespace base {

struct DescriptorTraits {
  using Raw = int;
  static Raw null() { return -1; }
  static void close(Raw raw);
};

/// Wraps the result of open() and similar calls: -1 gives an empty handle and leaves errno
/// unchanged.
using Descriptor = UniqueHandle<DescriptorTraits>;

}  // namespace base

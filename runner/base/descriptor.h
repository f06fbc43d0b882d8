// Sole ownership of a file descriptor: files, sockets, event counters.
// Hides close().
#pragma once

#include "runner/base/unique_handle.h"

namespace base {

struct DescriptorTraits {
  using Raw = int;
  static Raw null() { return -1; }
  static void close(Raw raw);
};

/// Takes what open() and its like return: a failed call's -1 is no handle, and errno stays.
using Descriptor = UniqueHandle<DescriptorTraits>;

}  // namespace base

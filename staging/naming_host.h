// Failures that name the node: of many that see the same path, one may have a bad disk or mount.
#pragma once

#include <string>

namespace staging {

/// "host: message", or the message itself if it begins so.
std::string on_this_host(const std::string& message);

/// Call while handling an exception. Throws a DataError or SystemError whose message begins with
/// this host's name in place of one of data or of the system, and any other as it is: all ranks
/// know of an AgreedError, and a ConfigError is the same on each node.
[[noreturn]] void rethrow_naming_host();

/// Returns what `work` returns.
template <class Work>
auto naming_host(const Work& work) {
  try {
    return work();
  } catch (...) {
    rethrow_naming_host();
  }
}

}  // namespace staging

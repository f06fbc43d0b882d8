// A parallel loop over indices, for code outside other parallel sections.
#pragma once

#include <cstddef>
#include <functional>

namespace base {

/// Calls work(0) ... work(count - 1), each once, on at most `threads` threads (0: as many as usable
/// CPUs), started in about this order. If a call throws, calls not yet started are skipped, and the
/// exception of the smallest index is rethrown.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace base

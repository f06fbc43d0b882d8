// Work on many things at once where nothing else is parallel.
// Hides threads, and which of them takes what.
#pragma once

#include <cstddef>
#include <functional>

namespace base {

/// Calls work(0) ... work(count - 1), each once, on at most `threads` threads (0: as many as CPUs
/// may be used), in about this order. When calls throw, those not begun are left out and the
/// exception of the smallest index is thrown here.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace base

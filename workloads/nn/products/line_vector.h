// Vectors that begin where a line of memory does: of tiles' rows that straddle lines, the CPU loads
// both.
// Hides the allocator.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace nn {

/// As std::allocator, aligned to lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <class Other>
  explicit LineAllocator(const LineAllocator<Other>& /*other*/) noexcept {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* block, std::size_t /*count*/) noexcept { ::operator delete(block, kLine); }
  template <class Other>
  bool operator==(const LineAllocator<Other>& /*other*/) const noexcept {
    return true;
  }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace nn

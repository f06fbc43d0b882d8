// Vectors aligned to a cache line: loading a tile row that straddles two lines costs twice.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace nn {

/// std::allocator with alignment to cache lines.
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

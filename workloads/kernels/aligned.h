// Memory for tensors: zeroed, aligned to the page, on huge pages where the system gives them.
// Hides mmap and madvise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace nn {

/// Returns a mapping to the system.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* block) const noexcept;
};

/// A block of floats, all zero at first.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  /// Throws SystemError when the system has no such block.
  explicit AlignedFloats(std::int64_t count);
  float* data() const { return static_cast<float*>(block_.get()); }
  std::int64_t count() const { return count_; }
  std::span<float> span() const { return {data(), static_cast<std::size_t>(count_)}; }

 private:
  std::unique_ptr<void, Unmap> block_;
  std::int64_t count_ = 0;
};

/// A block of at least so many bytes.
AlignedFloats aligned_bytes(std::int64_t bytes);

}  // namespace nn

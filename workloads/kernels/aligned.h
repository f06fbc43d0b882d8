// Memory for tensors: zeroed, page-aligned, on huge pages if the system provides them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace nn {

/// Unmaps a block.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* block) const noexcept;
};

/// A block of floats, initially zero.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  /// Throws SystemError when the system cannot provide the memory.
  explicit AlignedFloats(std::int64_t count);
  float* data() const { return static_cast<float*>(block_.get()); }
  std::int64_t count() const { return count_; }
  std::span<float> span() const { return {data(), static_cast<std::size_t>(count_)}; }

 private:
  std::unique_ptr<void, Unmap> block_;
  std::int64_t count_ = 0;
};

/// A block of at least `bytes` bytes.
AlignedFloats aligned_bytes(std::int64_t bytes);

}  // namespace nn

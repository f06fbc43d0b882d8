// Anonymous mappings as tensor memory.
#include "workloads/kernels/aligned.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"

namespace nn {

void Unmap::operator()(void* block) const noexcept { munmap(block, bytes); }

AlignedFloats::AlignedFloats(std::int64_t count) : count_(count) {
  const std::size_t bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(float);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    throw base::system_error(fmt::format("memory for tensors: {} bytes", bytes), errno);
  }
  // Advice only: without huge pages the run is merely slower.
  (void)madvise(block, bytes, MADV_HUGEPAGE);
  block_ = std::unique_ptr<void, Unmap>(block, Unmap{bytes});
}

AlignedFloats aligned_bytes(std::int64_t bytes) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  return AlignedFloats(base::ceil_div(bytes, kFloat));
}

}  // namespace nn

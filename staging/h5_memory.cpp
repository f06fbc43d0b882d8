// Sparse bytes, stored as the pages that were written.
#include "staging/h5_memory.h"

#include <algorithm>
#include <cstring>

namespace staging {

void SparseBytes::write(std::int64_t offset, std::span<const std::byte> bytes) {
  size_ = std::max(size_, offset + static_cast<std::int64_t>(bytes.size()));
  while (!bytes.empty()) {
    std::vector<std::byte>& page = pages_[offset / kPage];
    page.resize(kPage);
    const auto at = static_cast<std::size_t>(offset % kPage);
    const std::size_t count = std::min(bytes.size(), page.size() - at);
    std::memcpy(page.data() + at, bytes.data(), count);
    bytes = bytes.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

void SparseBytes::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto at = static_cast<std::size_t>(offset % kPage);
    const std::size_t count = std::min(out.size(), static_cast<std::size_t>(kPage) - at);
    const auto page = pages_.find(offset / kPage);
    if (page == pages_.end()) {
      std::memset(out.data(), 0, count);
    } else {
      std::memcpy(out.data(), page->second.data() + at, count);
    }
    out = out.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

}  // namespace staging

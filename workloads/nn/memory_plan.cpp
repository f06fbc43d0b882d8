// Greedy placement of buffers by lifetime.
#include "workloads/nn/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "runner/base/ceil_div.h"

namespace nn {

BufferId MemoryPlan::request(std::int64_t bytes, int first, int last, const std::string& purpose) {
  const std::int64_t aligned = base::round_up(bytes, kAlignment);
  buffers_.push_back({aligned, 0, first, last, purpose});
  return static_cast<BufferId>(buffers_.size()) - 1;
}

void MemoryPlan::extend(BufferId buffer, int last) {
  Buffer& target = buffers_.at(static_cast<std::size_t>(buffer));
  target.last = std::max(target.last, last);
}

void MemoryPlan::place() {
  std::vector<std::size_t> order(buffers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return buffers_[a].bytes > buffers_[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  total_ = 0;
  for (const std::size_t index : order) {
    Buffer& buffer = buffers_[index];
    std::int64_t offset = 0;
    for (const std::size_t other_index : placed) {
      const Buffer& other = buffers_[other_index];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      if (offset + buffer.bytes <= other.offset) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    buffer.offset = offset;
    total_ = std::max(total_, offset + buffer.bytes);
    const auto behind = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [this](std::int64_t value, std::size_t i) { return value < buffers_[i].offset; });
    placed.insert(behind, index);
  }
}

MemoryPlan::Peak MemoryPlan::peak() const {
  int last = 0;
  for (const Buffer& buffer : buffers_) last = std::max(last, buffer.last);
  Peak peak;
  std::int64_t most = -1;
  for (int moment = 0; moment <= last; ++moment) {
    std::int64_t bytes = 0;
    for (const Buffer& buffer : buffers_) {
      if (buffer.first <= moment && moment <= buffer.last) bytes += buffer.bytes;
    }
    if (bytes > most) {
      most = bytes;
      peak.moment = moment;
    }
  }
  for (const Buffer& buffer : buffers_) {
    const bool is_alive = buffer.first <= peak.moment && peak.moment <= buffer.last;
    if (is_alive && buffer.bytes > 0) peak.bytes[buffer.purpose] += buffer.bytes;
  }
  return peak;
}

std::map<std::string, std::int64_t> MemoryPlan::unshared_bytes() const {
  std::map<std::string, std::int64_t> sums;
  for (const Buffer& buffer : buffers_) sums[buffer.purpose] += buffer.bytes;
  return sums;
}

}  // namespace nn

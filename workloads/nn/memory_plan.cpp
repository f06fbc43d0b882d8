// Greedy placement of buffers by lifetime.
// Hides the search for gaps.
#include "workloads/nn/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace nn {

BufferId MemoryPlan::request(std::int64_t bytes, int first, int last, const std::string& purpose) {
  const std::int64_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  buffers_.push_back({aligned, 0, first, last, false, purpose});
  return static_cast<BufferId>(buffers_.size()) - 1;
}

void MemoryPlan::extend(BufferId buffer, int last) {
  Buffer& target = buffers_.at(static_cast<std::size_t>(buffer));
  target.last = std::max(target.last, last);
}

void MemoryPlan::pass_caches(BufferId buffer) {
  buffers_.at(static_cast<std::size_t>(buffer)).passes_caches = true;
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

/// From a buffer at `offset` to the next one in time, before or behind it, that has bytes there: up
/// to `most` moments, and 0 where one lives with it.
int MemoryPlan::moments_apart(std::size_t index, std::int64_t offset, int most) const {
  const Buffer& buffer = buffers_[index];
  int apart = most;
  for (std::size_t i = 0; i < buffers_.size() && apart > 0; ++i) {
    const Buffer& other = buffers_[i];
    const bool is_here =
        other.offset < offset + buffer.bytes && offset < other.offset + other.bytes;
    if (i == index || !is_here) continue;
    const int moments = std::max(buffer.first - other.last, other.first - buffer.last);
    apart = std::clamp(moments, 0, apart);
  }
  return apart;
}

void MemoryPlan::move_apart() {
  constexpr int kApart = 2;
  std::set<std::int64_t> places = {0};
  for (const Buffer& buffer : buffers_) places.insert(buffer.offset + buffer.bytes);
  for (std::size_t index = 0; index < buffers_.size(); ++index) {
    Buffer& buffer = buffers_[index];
    if (!buffer.passes_caches || moments_apart(index, buffer.offset, kApart) == kApart) continue;
    const auto found = std::find_if(places.begin(), places.end(), [&](std::int64_t offset) {
      return offset + buffer.bytes <= total_ && moments_apart(index, offset, kApart) == kApart;
    });
    if (found == places.end()) continue;
    buffer.offset = *found;
    places.insert(buffer.offset + buffer.bytes);
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

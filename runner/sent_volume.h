// What ranks send to others: bytes and messages.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runner/base/checked_count.h"
#include "runner/base/split_evenly.h"

namespace runner {

/// Messages have one byte or more.
struct SentVolume {
  std::int64_t bytes = 0, messages = 0;
  SentVolume& operator+=(const SentVolume& other) {
    bytes = base::checked_sum(bytes, other.bytes);
    messages = base::checked_sum(messages, other.messages);
    return *this;
  }
  bool operator==(const SentVolume&) const = default;
};
constexpr SentVolume operator*(std::int64_t times, const SentVolume& one) {
  return {times * one.bytes, times * one.messages};
}

/// What one of `ranks` sends for a sum of which each rank adds up a part: the parts of others to
/// these, and its own, of own_bytes, to all others. `parts` of them, of all_bytes together, have
/// any bytes.
constexpr SentVolume sent_for_parts(std::int64_t all_bytes, std::int64_t parts,
                                    std::int64_t own_bytes, std::int64_t ranks) {
  const std::int64_t others = own_bytes > 0 ? ranks - 1 : 0;
  return {all_bytes - own_bytes + others * own_bytes, parts - (own_bytes > 0 ? 1 : 0) + others};
}

/// What `rank` sends for a sum of `floats` floats (direct_sum.h).
constexpr SentVolume sent_for_direct_sum(std::int64_t floats, std::int64_t ranks,
                                         std::int64_t rank) {
  if (ranks <= 1) return {};
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const auto [begin, end] = base::split_evenly(floats, ranks, rank);
  return sent_for_parts(floats * kFloat, std::min(floats, ranks), (end - begin) * kFloat, ranks);
}

}  // namespace runner

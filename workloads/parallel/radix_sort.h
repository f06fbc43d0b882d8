// Parallel radix sort by 32-bit keys.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parallel {

/// Splits a range of items into chunks of nearly equal size: one for each thread, or fewer so that
/// a chunk has at least kLeast items.
struct Chunks {
  static constexpr std::size_t kLeast = std::size_t{1} << 15;
  explicit Chunks(std::size_t items_in)
      : items(items_in),
        count(std::clamp<std::size_t>(items_in / kLeast, 1,
                                      static_cast<std::size_t>(omp_get_max_threads()))) {}
  std::size_t begin(std::size_t chunk) const {
    return items / count * chunk + std::min(chunk, items % count);
  }
  std::size_t items, count;
};

namespace radix {

inline constexpr int kDigitBits = 8;
inline constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
using Counts = std::array<std::size_t, kDigits>;

template <class T, class KeyOf>
std::size_t digit_of(const T& item, int shift, KeyOf key_of) {
  return (key_of(item) >> shift) & (kDigits - 1);
}

/// Replaces counts[chunk][digit] by the output position of the chunk's first item with that digit.
/// Returns false if all items have the same digit.
inline bool counts_to_places(std::vector<Counts>& counts, std::size_t items) {
  std::size_t place = 0;
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    const std::size_t first = place;
    for (Counts& of_chunk : counts) place += std::exchange(of_chunk[digit], place);
    if (place - first == items) return false;
  }
  return true;
}

/// Copies items to `to` in the order of one digit (stable). Returns false, and copies nothing, if
/// all items have the same digit.
template <class T, class KeyOf>
bool sort_by_digit(std::span<const T> from, std::span<T> to, int shift, KeyOf key_of) {
  const Chunks chunks(from.size());
  std::vector<Counts> places(chunks.count);
#pragma omp parallel for schedule(static, 1)
  for (std::size_t chunk = 0; chunk < chunks.count; ++chunk) {
    Counts counts{};
    const std::size_t end = chunks.begin(chunk + 1);
    for (std::size_t i = chunks.begin(chunk); i < end; ++i) {
      ++counts[digit_of(from[i], shift, key_of)];
    }
    places[chunk] = counts;
  }
  if (!counts_to_places(places, from.size())) return false;
#pragma omp parallel for schedule(static, 1)
  for (std::size_t chunk = 0; chunk < chunks.count; ++chunk) {
    Counts place = places[chunk];
    const std::size_t end = chunks.begin(chunk + 1);
    for (std::size_t i = chunks.begin(chunk); i < end; ++i) {
      to[place[digit_of(from[i], shift, key_of)]++] = from[i];
    }
  }
  return true;
}

}  // namespace radix

/// Sorts items by key_of(item), a std::uint32_t. Stable, so the result does not depend on the
/// number of threads. Needs scratch memory of the size of `items`.
template <class T, class KeyOf>
void radix_sort(std::vector<T>& items, KeyOf key_of) {
  std::vector<T> other(items.size());
  for (int shift = 0; shift < 32; shift += radix::kDigitBits) {
    if (radix::sort_by_digit<T>(items, other, shift, key_of)) items.swap(other);
  }
}

}  // namespace parallel

// A hash table for short keys, looked up for every record of a log; several times faster than
// std::unordered_map on log keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mllog {

/// Whether two texts are equal. Faster than == for short texts, as it calls no function.
inline bool is_same_text(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  const auto same_word = [&](auto word, std::size_t at) {
    auto of_other = word;
    std::memcpy(&word, one.data() + at, sizeof word);
    std::memcpy(&of_other, other.data() + at, sizeof word);
    return word == of_other;
  };
  const std::size_t size = one.size();
  if (size > 16) return std::memcmp(one.data(), other.data(), size) == 0;
  // Two overlapping words cover all bytes.
  if (size >= 8) return same_word(std::uint64_t{}, 0) && same_word(std::uint64_t{}, size - 8);
  if (size >= 4) return same_word(std::uint32_t{}, 0) && same_word(std::uint32_t{}, size - 4);
  for (std::size_t i = 0; i < size; ++i) {
    if (one[i] != other[i]) return false;
  }
  return true;
}

template <class Value>
class KeyTable {
 public:
  /// The value of `key`, inserted if absent. References are invalidated when another key is added.
  Value& operator[](std::string_view key) {
    if (const std::size_t number = number_of(key); number != 0) return entries_[number - 1].second;
    entries_.emplace_back(std::string(key), Value());
    if (2 * entries_.size() > places_.size()) {
      rebuild();
    } else {
      place(entries_.size() - 1);
    }
    return entries_.back().second;
  }

  /// Null if absent.
  const Value* find(std::string_view key) const {
    const std::size_t number = number_of(key);
    return number == 0 ? nullptr : &entries_[number - 1].second;
  }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  /// Hashes the length and up to eight bytes at both ends, which suffices for log keys.
  std::size_t slot_of(std::string_view key) const {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    std::uint64_t front = 0, back = 0;
    const std::size_t bytes = key.size() < 8 ? key.size() : 8;
    std::memcpy(&front, key.data(), bytes);
    std::memcpy(&back, key.data() + key.size() - bytes, bytes);
    const std::uint64_t mixed = ((front * kOdd) ^ back ^ key.size()) * kOdd;
    return static_cast<std::size_t>(mixed >> 32) & (places_.size() - 1);
  }
  /// The index of the key's entry plus 1; 0 if absent.
  std::size_t number_of(std::string_view key) const {
    if (places_.empty()) return 0;
    std::size_t at = slot_of(key);
    while (places_[at] != 0 && !is_same_text(entries_[places_[at] - 1].first, key)) at = next(at);
    return places_[at];
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

  void place(std::size_t entry) {
    std::size_t at = slot_of(entries_[entry].first);
    while (places_[at] != 0) at = next(at);
    places_[at] = static_cast<std::uint32_t>(entry + 1);
  }

  void rebuild() {
    constexpr std::size_t kFewest = 64;
    places_.assign(places_.empty() ? kFewest : 2 * places_.size(), 0);
    for (std::size_t entry = 0; entry < entries_.size(); ++entry) place(entry);
  }

  std::vector<std::pair<std::string, Value>> entries_;
  std::vector<std::uint32_t> places_;  ///< a power of two of slots: 0 if free, else 1 + index of
                                       ///< the entry
};

}  // namespace mllog

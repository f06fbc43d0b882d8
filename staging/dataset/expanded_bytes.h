// Shared by the decoders of compressed files: where the content goes, and what they throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// The content of a file, in memory that grows up to a bound, or in memory of a fixed size.
class ExpandedBytes {
 public:
  /// `name` of the file, for messages, must outlive the object.
  ExpandedBytes(std::int64_t most_bytes, const std::string& name);
  ExpandedBytes(std::span<std::byte> memory, const std::string& name);

  std::size_t size() const { return size_; }
  /// Memory for `more` bytes beyond those that are there, as far as the bound allows.
  void reserve(std::size_t more);
  /// Whether reserve() can give more memory.
  bool can_grow() const { return memory_.size() < most_; }
  /// Memory that is left.
  std::span<std::byte> memory() { return memory_.subspan(size_); }
  /// Memory for the next bytes, never empty: where the bound is reached, a byte outside, so that a
  /// decoder goes on to the end of its frame, and shows if there is more content.
  std::span<std::byte> next();
  /// `bytes` of memory() or next() were written. Throws DataError beyond the bound; `offset` in the
  /// file and `format` are for the message.
  void take(std::size_t bytes, std::size_t offset, const char* format);
  /// Throws the same.
  [[noreturn]] void refuse_more(std::size_t offset, const char* format) const;
  /// "NAME: offset 17: FORMAT: WHAT".
  [[noreturn]] void fail(std::size_t offset, const char* format, const std::string& what) const;

  /// Of memory that grew.
  std::vector<std::byte> release();

 private:
  const std::size_t most_;
  const std::string& name_;
  std::vector<std::byte> content_;  ///< unless the memory's size is fixed
  std::span<std::byte> memory_;
  std::size_t size_ = 0;
  std::byte beyond_{};
};

/// A little-endian number of 32 bits. `bytes` must have it at `offset`.
std::uint32_t number32(std::span<const std::byte> bytes, std::size_t offset = 0);

inline constexpr std::uint32_t kZstdMagic = 0xFD2FB528, kLz4Magic = 0x184D2204;

/// Bytes of the skippable frame (zstd's and lz4's, which are the same) that `bytes` begin with, as
/// it states them; nullopt if they begin with anything else, or with less than its header.
std::optional<std::uint64_t> skippable_bytes(std::span<const std::byte> bytes);

/// What stated_bytes() is about, of a file that begins and ends with these bytes; nullopt if it is
/// not stated.
std::optional<std::uint64_t> stated_by_gzip(std::span<const std::byte> end);
std::optional<std::uint64_t> stated_by_zstd(std::span<const std::byte> begin);
std::optional<std::uint64_t> stated_by_lz4(std::span<const std::byte> begin);

void expand_gzip(std::span<const std::byte> file, ExpandedBytes& out);
void expand_zstd(std::span<const std::byte> file, ExpandedBytes& out);
void expand_lz4(std::span<const std::byte> file, ExpandedBytes& out);

}  // namespace dataset

// Expands whole compressed files.
#include "staging/dataset/expand.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/expanded_bytes.h"

namespace dataset {
namespace {

bool ends_with_any_case(std::string_view file, std::string_view ending) {
  return file.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), file.end() - std::ssize(ending),
                    [](char expected, char found) {
                      return expected == std::tolower(static_cast<unsigned char>(found));
                    });
}

/// A frame's header ends within the first bytes.
constexpr std::size_t kBeginBytes = 32, kEndBytes = sizeof(std::uint32_t);

void expand_any(std::span<const std::byte> file, ExpandedBytes& out, const std::string& name) {
  switch (compression_of(file)) {
    case Compression::kGzip:
      expand_gzip(file, out);
      break;
    case Compression::kZstd:
      expand_zstd(file, out);
      break;
    case Compression::kLz4:
      expand_lz4(file, out);
      break;
    case Compression::kNone:
      throw base::DataError(name + ": expected a file of gzip, zstd or lz4, found other bytes");
  }
}

/// stated_bytes() of a file of `file_bytes`.
std::optional<std::int64_t> checked_statement(std::span<const std::byte> begin,
                                              std::span<const std::byte> end,
                                              std::int64_t file_bytes, std::int64_t most_bytes) {
  std::optional<std::uint64_t> stated;
  switch (compression_of(begin)) {
    case Compression::kGzip:
      stated = stated_by_gzip(end);
      break;
    case Compression::kZstd:
      stated = stated_by_zstd(begin);
      break;
    case Compression::kLz4:
      stated = stated_by_lz4(begin);
      break;
    case Compression::kNone:
      break;
  }
  if (!stated || std::cmp_less_equal(*stated, file_bytes) ||
      std::cmp_greater(*stated, most_bytes)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*stated);
}

}  // namespace

ExpandedBytes::ExpandedBytes(std::int64_t most_bytes, const std::string& name)
    : most_(static_cast<std::size_t>(most_bytes)), name_(name) {}

ExpandedBytes::ExpandedBytes(std::span<std::byte> memory, const std::string& name)
    : most_(memory.size()), name_(name), memory_(memory) {}

void ExpandedBytes::reserve(std::size_t more) {
  std::size_t wanted = more < most_ - size_ ? size_ + more : most_;
  if (wanted <= memory_.size()) return;
  // At least doubled, so that many small frames are not copied again and again.
  wanted = std::max(wanted, std::min(2 * memory_.size(), most_));
  content_.reserve(wanted);  // resize() alone may take more
  content_.resize(wanted);
  memory_ = content_;
}

std::span<std::byte> ExpandedBytes::next() {
  constexpr std::size_t kLeast = 4096;
  if (size_ == memory_.size()) reserve(std::max(size_, kLeast));
  return size_ < memory_.size() ? memory() : std::span(&beyond_, 1);
}

void ExpandedBytes::take(std::size_t bytes, std::size_t offset, const char* format) {
  if (bytes > memory_.size() - size_) refuse_more(offset, format);
  size_ += bytes;
}

void ExpandedBytes::refuse_more(std::size_t offset, const char* format) const {
  fail(offset, format,
       fmt::format("the content is longer than the {} bytes that it may have", most_));
}

void ExpandedBytes::fail(std::size_t offset, const char* format, const std::string& what) const {
  throw base::DataError(fmt::format("{}: offset {}: {}: {}", name_, offset, format, what));
}

std::vector<std::byte> ExpandedBytes::release() {
  content_.resize(size_);
  return std::move(content_);
}

std::uint32_t number32(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i) {
    number |= std::to_integer<std::uint32_t>(bytes[offset + i]) << (8 * i);
  }
  return number;
}

std::optional<std::uint64_t> skippable_bytes(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kMagic = 0x184D2A50, kMask = 0xFFFFFFF0;
  constexpr std::size_t kHeader = 8;
  if (bytes.size() < kHeader || (number32(bytes) & kMask) != kMagic) return std::nullopt;
  return kHeader + number32(bytes, sizeof(kMagic));
}

Compression compression_of(std::span<const std::byte> begin) {
  constexpr std::array kGzip = {std::byte{0x1f}, std::byte{0x8b}};
  if (begin.size() >= kGzip.size() && std::equal(kGzip.begin(), kGzip.end(), begin.begin())) {
    return Compression::kGzip;
  }
  bool skipped = false;
  for (auto bytes = skippable_bytes(begin); bytes; bytes = skippable_bytes(begin)) {
    skipped = true;
    begin = begin.subspan(std::min<std::uint64_t>(*bytes, begin.size()));
  }
  const std::uint32_t magic = begin.size() >= sizeof(magic) ? number32(begin) : 0;
  if (magic == kLz4Magic) return Compression::kLz4;
  return magic == kZstdMagic || skipped ? Compression::kZstd : Compression::kNone;
}

std::string_view without_compression(std::string_view file) {
  for (const std::string_view ending : {".gz", ".zst", ".lz4"}) {
    if (ends_with_any_case(file, ending)) return file.substr(0, file.size() - ending.size());
  }
  return file;
}

std::vector<std::byte> expand(std::span<const std::byte> file, std::int64_t most_bytes,
                              const std::string& name) {
  ExpandedBytes out(most_bytes, name);
  expand_any(file, out, name);
  return out.release();
}

void expand_into(std::span<const std::byte> file, std::span<std::byte> content,
                 const std::string& name) {
  ExpandedBytes out(content, name);
  expand_any(file, out, name);
  if (out.size() == content.size()) return;
  throw base::DataError(fmt::format("{}: expected a content of {} bytes, found {}", name,
                                    content.size(), out.size()));
}

bool may_be_compressed(std::string_view file) {
  return without_compression(file) != file || ends_with_any_case(file, ".tfrecord");
}

std::optional<std::int64_t> stated_bytes(std::span<const std::byte> file, std::int64_t most_bytes) {
  const auto begin = file.first(std::min(file.size(), kBeginBytes));
  const auto end = file.last(std::min(file.size(), kEndBytes));
  return checked_statement(begin, end, std::ssize(file), most_bytes);
}

std::optional<std::int64_t> stated_bytes(const File& file, std::int64_t offset, std::int64_t bytes,
                                         std::int64_t most_bytes) {
  std::array<std::byte, kBeginBytes> begin{};
  std::array<std::byte, kEndBytes> end{};
  if (bytes < std::ssize(end)) return std::nullopt;
  const auto head = std::span(begin).first(
      static_cast<std::size_t>(std::min<std::int64_t>(bytes, std::ssize(begin))));
  file.read(offset, head);
  if (compression_of(head) == Compression::kGzip) file.read(offset + bytes - std::ssize(end), end);
  return checked_statement(head, end, bytes, most_bytes);
}

}  // namespace dataset

// Iteration over the members of a tar archive: ustar, GNU and pax.
#include "staging/dataset/tar.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"

namespace dataset {
namespace {

/// After small members one read covers many headers; after large ones it covers little more than
/// one.
constexpr std::int64_t kSmallMember = 32 << 10, kLargeWindow = 256 << 10,
                       kSmallWindow = 4 * kTarBlock;
/// Limit on a long name or pax header; anything larger is damage.
constexpr std::int64_t kMaxExtension = 1 << 20;

struct HeaderField {
  std::size_t offset, size;
};
constexpr HeaderField kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kTarget{157, 100},
    kMagic{257, 6}, kPrefix{345, 155};
constexpr std::size_t kTypeOffset = 156;

std::string_view text(const std::byte* block, HeaderField field) {
  const auto* begin = reinterpret_cast<const char*>(block + field.offset);
  const void* zero = std::memchr(begin, 0, field.size);
  return {begin, zero == nullptr
                     ? field.size
                     : static_cast<std::size_t>(static_cast<const char*>(zero) - begin)};
}

/// Octal digits between blanks, or GNU's base 256 with the top bit set; -1 for anything else.
std::int64_t number(const std::byte* block, HeaderField field) {
  const std::byte* begin = block + field.offset;
  if ((begin[0] & std::byte{0x80}) != std::byte{0}) {
    std::int64_t value = std::to_integer<std::int64_t>(begin[0] & std::byte{0x7f});
    for (std::size_t i = 1; i < field.size; ++i) {
      if (value > (std::numeric_limits<std::int64_t>::max() >> 8)) return -1;
      value = value << 8 | std::to_integer<std::int64_t>(begin[i]);
    }
    return value;
  }
  std::string_view digits = text(block, field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (digits.empty()) return 0;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, 8);
  return error == std::errc() && end == digits.end() && value >= 0 ? value : -1;
}

std::string header_name(const std::byte* block) {
  std::string name(text(block, kName));
  // GNU archives store times where ustar stores the prefix.
  const bool is_posix = std::memcmp(block + kMagic.offset, "ustar\0", kMagic.size) == 0;
  const std::string_view prefix = is_posix ? text(block, kPrefix) : std::string_view();
  return prefix.empty() ? name : std::string(prefix) + "/" + name;
}

/// The name from the top of the archive, where `tar -P` has "/" and others "./".
std::string tidy(std::string name) {
  std::size_t begin = name.find_first_not_of('/');
  while (begin != std::string::npos && name.compare(begin, 2, "./") == 0) {
    begin = name.find_first_not_of('/', begin + 2);
  }
  name.erase(0, begin);
  while (!name.empty() && name.back() == '/') name.pop_back();
  return name == "." ? "" : name;
}

TarMember::Kind kind_of(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7':
      return TarMember::Kind::kFile;
    case '1':
      return TarMember::Kind::kHardLink;
    case '5':
      return TarMember::Kind::kFolder;
    default:
      return TarMember::Kind::kOther;
  }
}

/// Directories and links have no data, whatever their size field says.
bool has_data(char type) { return type == '\0' || type == '0' || type == '7' || type > '6'; }

std::int64_t padded(std::int64_t size) { return base::round_up(size, kTarBlock); }

}  // namespace

bool is_end_mark(const std::byte* block) {
  return std::all_of(block, block + kTarBlock, [](std::byte b) { return b == std::byte{0}; });
}

/// The checksum is the sum of all bytes with its own field taken as blanks. Old archives summed
/// signed bytes.
bool is_tar_header(const std::byte* block) {
  std::int64_t plain = 0, with_sign = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kTarBlock); ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    const auto value = own ? std::uint8_t{' '} : std::to_integer<std::uint8_t>(block[i]);
    plain += value;
    with_sign += static_cast<std::int8_t>(value);
  }
  const std::int64_t stored = number(block, kChecksum);
  return stored == plain || stored == with_sign;
}

TarWalker::TarWalker(const File& file, std::string label, std::int64_t begin, std::int64_t end)
    : file_(file), label_(std::move(label)), begin_(begin), end_(end), position_(begin) {}

void TarWalker::fail(std::int64_t offset, const std::string& what) const {
  throw base::DataError(fmt::format("{}: offset {}: {}", label_, offset, what));
}

const std::byte* TarWalker::block(std::int64_t offset) {
  if (offset + kTarBlock > end_) {
    fail(offset, fmt::format("the archive is cut: expected a header or the end mark, found the end "
                             "of the file after {} bytes",
                             end_ - offset));
  }
  if (offset < window_begin_ || offset + kTarBlock > window_begin_ + window_size_) {
    const std::int64_t wanted = previous_size_ < kSmallMember ? kLargeWindow : kSmallWindow;
    window_size_ = std::min(wanted, end_ - offset);
    window_.resize(static_cast<std::size_t>(window_size_));
    window_begin_ = offset;
    file_.read(offset, window_);
  }
  return window_.data() + (offset - window_begin_);
}

std::string TarWalker::payload(std::int64_t offset, std::int64_t size) {
  if (size > kMaxExtension) fail(offset, fmt::format("an extension header of {} bytes", size));
  if (size > end_ - offset) fail(offset, "the archive is cut inside an extension header");
  std::string data(static_cast<std::size_t>(size), '\0');
  file_.read(offset, std::as_writable_bytes(std::span(data)));
  return data;
}

/// Goes on behind the end mark, to the next archive. Returns false if there is none. The rest of
/// the record in which the mark is may have any content.
bool TarWalker::pass_end_mark(std::int64_t mark) {
  constexpr std::int64_t kRecord = 20 * kTarBlock;
  const std::int64_t record_end = begin_ + base::round_up(mark + 1 - begin_, kRecord);
  previous_size_ = 0;
  for (std::int64_t at = mark + kTarBlock; end_ - at >= kTarBlock; at += kTarBlock) {
    const std::byte* found = block(at);
    if (is_end_mark(found)) continue;
    position_ = at;
    if (is_tar_header(found)) return true;
    if (at >= record_end) {
      fail(at, fmt::format("expected nothing but another archive after the end mark at {}, found "
                           "other bytes",
                           mark));
    }
  }
  position_ = end_;
  return false;
}

/// Parses records of the form "LENGTH KEY=VALUE\n". Only path, linkpath, size and those of sparse
/// files are used.
void TarWalker::read_pax(std::int64_t offset, std::int64_t size, Extension& extension) {
  const std::string records = payload(offset, size);
  std::string_view rest = records;
  while (!rest.empty() && rest.front() != '\0') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.begin(), rest.end(), length);
    const auto digits = static_cast<std::size_t>(end - rest.begin());
    if (error != std::errc() || length > rest.size() || length < digits + 3 ||
        rest[digits] != ' ' || rest[length - 1] != '\n') {
      fail(offset, "a damaged pax header");
    }
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) fail(offset, "a pax record without '='");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") extension.name = value;
    if (key == "linkpath") extension.target = value;
    if (key.starts_with("GNU.sparse.")) extension.is_sparse = true;
    if (key == "size") {
      const auto parsed = std::from_chars(value.begin(), value.end(), extension.size);
      if (parsed.ec != std::errc() || parsed.ptr != value.end() || extension.size < 0) {
        fail(offset, fmt::format("a pax size of '{}'", value));
      }
    }
    rest.remove_prefix(length);
  }
}

bool TarWalker::next(TarMember& member) {
  Extension extension;
  std::int64_t first = position_;
  for (;;) {
    const std::int64_t at = position_;
    const std::byte* header = block(at);
    if (is_end_mark(header)) {
      if (at != first) fail(at, "the archive ends between an extension header and its member");
      if (!pass_end_mark(at)) return false;
      first = position_;
      continue;
    }
    if (!is_tar_header(header)) {
      fail(at, "expected a tar header, found a block with a wrong checksum");
    }
    const auto type = static_cast<char>(header[kTypeOffset]);
    const std::string name = header_name(header), target(text(header, kTarget));
    std::int64_t size = has_data(type) ? number(header, kSize) : 0;
    const bool is_extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (!is_extension && has_data(type) && extension.size >= 0) size = extension.size;
    if (size < 0) fail(at, "a damaged size field");
    const std::int64_t data = at + kTarBlock;
    if (size > end_ - data) {
      fail(at, fmt::format("the archive is cut inside '{}': {} bytes expected, {} left", name, size,
                           end_ - data));
    }
    if (type == 'L') extension.name = payload(data, size).c_str();  // up to its zero
    if (type == 'K') extension.target = payload(data, size).c_str();
    if (type == 'x') read_pax(data, size, extension);
    position_ = data + padded(size);
    previous_size_ = size;
    if (is_extension) continue;
    member.name = tidy(extension.name.empty() ? name : extension.name);
    member.kind = extension.is_sparse ? TarMember::Kind::kOther : kind_of(type);
    member.target.clear();
    if (member.kind == TarMember::Kind::kHardLink) {
      member.target = tidy(extension.target.empty() ? target : extension.target);
    }
    if (type == '0' || type == '\0') {
      // Before POSIX, a folder was a file whose name ends in a slash.
      if (!name.empty() && name.back() == '/') member.kind = TarMember::Kind::kFolder;
    }
    member.header_offset = first;
    member.data_offset = data;
    member.size = size;
    return true;
  }
}

}  // namespace dataset

// Kinds of files by their first bytes.
#include "runner/base/file_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "runner/base/json_fault.h"

namespace base {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes, words;
  std::size_t offset = 0;
};

/// Some are letters, and begin texts as well.
constexpr Signature kSignatures[] = {
    {"\xff\xd8\xff"sv, "a JPEG image"},
    {"\x89PNG"sv, "a PNG image"},
    {"GIF8"sv, "a GIF image"},
    {"BM"sv, "a Windows bitmap"},
    {"WEBP"sv, "a WebP image", 8},
    {"II*\0"sv, "a TIFF image"},
    {"MM\0*"sv, "a TIFF image"},
    {"ftypheic"sv, "a HEIC image", 4},
    {"ftypavif"sv, "an AVIF image", 4},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {"CDF"sv, "a NetCDF file of before HDF5"},
    {"PK\x03\x04"sv, "a zip archive"},
    {"\x1f\x8b"sv, "a gzip file"},
    {"BZh"sv, "a bzip2 file"},
    {"\xfd\x37zXZ"sv, "an xz file"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file"},
    {"\x04\x22\x4d\x18"sv, "an lz4 file"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"\x80\x02"sv, "a Python pickle"},
    {"PAR1"sv, "a Parquet file"},
};

constexpr Signature kTexts[] = {
    {"version https://git-lfs"sv,
     "the pointer that Git LFS leaves; fetch the file by git lfs pull"},
    {"<!DOCTYPE"sv, "an HTML page, as a failed download leaves it"},
    {"<html"sv, "an HTML page, as a failed download leaves it"},
    {"<?xml"sv, "an XML text, as a failed download leaves it"},
};

bool is_text(std::string_view begin) {
  return std::ranges::all_of(
      begin, [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::string format_in_words(std::span<const std::byte> bytes) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (begin.empty()) return "an empty file";
  const bool is_readable = is_text(begin);
  for (const Signature& one : is_readable ? std::span<const Signature>(kTexts) : kSignatures) {
    if (begin.size() >= one.offset && begin.substr(one.offset).starts_with(one.bytes)) {
      return std::string(one.words);
    }
  }
  if (begin.find_first_not_of('\0') == std::string_view::npos) {
    return "zeros, as a crash of the node or a file system leaves them";
  }
  const std::string encoding = other_encoding(begin);
  if (!encoding.empty()) return encoding;
  return is_readable ? "text" : "";
}

std::string found_in_words(std::span<const std::byte> begin, std::int64_t size) {
  const std::string words = format_in_words(begin);
  return words.empty() ? fmt::format("{} other bytes", size) : words;
}

}  // namespace base

// Reads text files with one sentence a line.
#include "workloads/gnmt/text_lines.h"

#include <fmt/core.h>

#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/base/utf8.h"

namespace gnmt {
namespace {

base::InputFile open_existing(const std::string& path) {
  std::error_code ignored;  // what else is wrong shows when it is opened
  if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) {
    throw base::DataError(fmt::format("{}: expected a text file, found none", path));
  }
  return base::InputFile(path);
}

}  // namespace

TextLines::TextLines(const std::string& path)
    : path_(path), file_(open_existing(path)), buffer_(kMostBytes + 1, '\0') {}

std::string TextLines::place() const { return fmt::format("{}:{}", path_, number_); }

bool TextLines::next(std::string& line) {
  // getline() also writes a zero; it fails where neither line feed nor end is in reach.
  file_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  std::int64_t length = file_.gcount();
  if (length == 0) return false;
  ++number_;
  if (file_.fail()) {
    throw base::DataError(fmt::format("{}: expected a line of at most {}, found a longer one",
                                      place(), base::bytes_text(kMostBytes)));
  }
  if (!file_.eof()) --length;  // the line feed
  line.assign(buffer_.data(), static_cast<std::size_t>(length));
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t bytes = base::utf8_at(line, at).length;
    if (bytes == 0) {
      throw base::DataError(fmt::format("{}: byte {}: expected UTF-8, found byte 0x{:02x}", place(),
                                        at + 1, static_cast<unsigned char>(line[at])));
    }
    at += bytes;
  }
  return true;
}

}  // namespace gnmt

// Tests of the words for kinds of files.
#include "runner/base/file_format.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace base {
namespace {

using namespace std::string_view_literals;

std::string words(std::string_view text) { return format_in_words(std::as_bytes(std::span(text))); }

TEST(FileFormat, IsNamedByItsFirstBytes) {
  EXPECT_EQ(words("\xff\xd8\xff\xe0"), "a JPEG image");
  EXPECT_EQ(words("GIF89a\x08\0\x08\0"sv), "a GIF image");
  EXPECT_EQ(words("RIFF\x10\0\0\0WEBPVP8 "sv), "a WebP image");
  EXPECT_EQ(words("\x1f\x8b\x08"), "a gzip file");
  EXPECT_EQ(words("<!DOCTYPE html>"), "an HTML page, as a failed download leaves it");
  EXPECT_EQ(words(std::string(600, '\0')),
            "zeros, as a crash of the node or a file system leaves them");
  EXPECT_EQ(words("see README\n"), "text");
  EXPECT_EQ(words("{\0\"\0a\0"sv), "UTF-16; convert it, for example by iconv -f UTF-16 -t UTF-8");
  EXPECT_EQ(words(""), "an empty file");
  EXPECT_EQ(words("\x01\x02\x03\xf0"), "");
}

TEST(FileFormat, IsTextWhereLettersOfOtherFormatsBeginIt) {
  EXPECT_EQ(words("BMC started"), "text");
  EXPECT_EQ(words("BM\x36\0\0\0\0\0\0\0"sv), "a Windows bitmap");
}

TEST(FileFormat, IsASizeWhereItIsUnknown) {
  EXPECT_EQ(found_in_words(std::as_bytes(std::span("\x01\xf0"sv)), 4096), "4096 other bytes");
}

}  // namespace
}  // namespace base

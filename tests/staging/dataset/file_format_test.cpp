// Tests of the words for kinds of files.
#include "staging/dataset/file_format.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "staging/dataset/encode.h"
#include "tests/staging/dataset/images.h"

namespace dataset {
namespace {

using namespace std::string_view_literals;

std::string words(std::string_view text) { return format_in_words(std::as_bytes(std::span(text))); }

TEST(FileFormat, IsNamedByItsFirstBytes) {
  EXPECT_EQ(words("GIF89a....."), "a GIF image");
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

TEST(FileFormat, IsThatOfTheProjectsOwnImages) {
  const Image image = smooth_image(8, 8);
  EXPECT_EQ(format_in_words(make_jpeg(image.pixels, 8, 8, 3, {})), "a JPEG image");
}

TEST(FileFormat, IsASizeWhereItIsUnknown) {
  EXPECT_EQ(found_in_words(std::as_bytes(std::span("\x01\xf0"sv)), 4096), "4096 other bytes");
}

}  // namespace
}  // namespace dataset

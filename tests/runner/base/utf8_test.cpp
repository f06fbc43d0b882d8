// UTF-8 sequences: which bytes form a character.
#include "runner/base/utf8.h"

#include <gtest/gtest.h>

namespace {

using base::append_utf8;
using base::utf8_at;

TEST(Utf8, ReadsEachCodePointThatItWrites) {
  constexpr std::uint32_t kLast = 0x10ffff;
  for (std::uint32_t code = 0; code <= kLast; ++code) {
    std::string text = "<";
    append_utf8(code, text);
    const std::size_t length = text.size() - 1;
    text += ">";
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const auto read = utf8_at(text, 1);
    ASSERT_EQ(read.length, surrogate ? 0 : length) << code;
    ASSERT_EQ(read.code, surrogate ? 0 : code);
  }
}

TEST(Utf8, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(",
        "\xe2\x82(", "\xf0\x9f(\x80"}) {
    EXPECT_EQ(utf8_at(text, 0).length, 0u) << testing::PrintToString(text);
  }
}

}  // namespace

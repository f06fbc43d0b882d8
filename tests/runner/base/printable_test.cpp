// Makes text from outside safe to display.
#include "runner/base/printable.h"

#include <gtest/gtest.h>

namespace {

using base::columns;
using base::printable;
using base::shortened;

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb\x07"), "a?[31mb?");
  EXPECT_EQ(printable("two\nlines\tand"), "two lines and");
  EXPECT_EQ(printable("\xc2\x9b"), "?") << "a C1 control in UTF-8";
}

TEST(Printable, KeepsLinesOnlyWhereTheyAreAskedFor) {
  EXPECT_EQ(base::printable_lines("two\nlines\x1b[2J\r\n"), "two\nlines?[2J \n");
  EXPECT_EQ(base::printable_lines(""), "");
}

TEST(Printable, KeepsUtf8AndReadsOtherBytesAsLatin1) {
  EXPECT_EQ(printable("é"), "é");
  EXPECT_EQ(printable("\xe9"), "é");
  EXPECT_EQ(printable("\xc0\xaf"), "À¯") << "an overlong form is no UTF-8";
  EXPECT_EQ(printable("\xed\xa0\x80"), "í\xc2\xa0?") << "nor is a surrogate";
}

TEST(Printable, RefusesToLetTextRearrangeItsLine) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a?b");
}

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("results/demo/resnet/result_3.txt", 20), "result..result_3.txt");
  EXPECT_EQ(columns(shortened("äöüäöüäöü", 5)), 5u);
  EXPECT_EQ(shortened("short", 20), "short");
  EXPECT_EQ(shortened("short", 1), ".");
}

}  // namespace

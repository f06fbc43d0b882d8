// Reading of text files with one sentence a line.
#include "workloads/gnmt/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using base::thrown_message;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& path) {
  gnmt::TextLines lines(path);
  std::vector<std::string> all;
  for (std::string line; lines.next(line);) all.push_back(line);
  return all;
}

TEST(TextLines, EndWithALineFeedOrTheFile) {
  const base::TemporaryDirectory folder;
  EXPECT_THAT(lines_of(folder.write("a", "eins\n\nzwei\r\ndrei für\n")),
              ElementsAre("eins", "", "zwei\r", "drei für"));
  EXPECT_THAT(lines_of(folder.write("b", "eins\nzwei")), ElementsAre("eins", "zwei"));
  EXPECT_THAT(lines_of(folder.write("c", std::string("a\0b\n", 4))),
              ElementsAre(std::string("a\0b", 3)));
  EXPECT_THAT(lines_of(folder.write("d", "")), IsEmpty());
}

TEST(TextLines, NameThePlaceOfWhatIsNotUtf8) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("latin.de",
                                        "gut\nStra\xDF"
                                        "e\n");
  EXPECT_EQ(thrown_message<base::DataError>([&] { lines_of(path); }),
            path + ":2: byte 5: expected UTF-8, found byte 0xdf");
}

TEST(TextLines, AreBounded) {
  const base::TemporaryDirectory folder;
  const std::string longest(gnmt::TextLines::kMostBytes, 'x');
  EXPECT_THAT(lines_of(folder.write("a", longest + "\n" + longest)), ElementsAre(longest, longest));
  const std::string path = folder.write("b", "a\n" + longest + "x\n");
  EXPECT_EQ(thrown_message<base::DataError>([&] { lines_of(path); }),
            path + ":2: expected a line of at most 1.0 MiB, found a longer one");
}

TEST(TextLines, NeedAFile) {
  const base::TemporaryDirectory folder;
  const std::string absent = (folder.path() / "absent").string();
  EXPECT_EQ(thrown_message<base::DataError>([&] { lines_of(absent); }),
            absent + ": expected a text file, found none");
  EXPECT_THAT(thrown_message<base::SystemError>([&] { lines_of(folder.path().string()); }),
              EndsWith("expected a regular file, found a folder"));
}

}  // namespace

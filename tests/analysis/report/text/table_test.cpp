// Tables of text.
#include "analysis/report/text/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace {

using Align = analysis::report::TextTable::Align;

std::string written(const analysis::report::TextTable& table, std::size_t width) {
  std::ostringstream out;
  table.write(out, width);
  return out.str();
}

analysis::report::TextTable systems(const std::string& name) {
  analysis::report::TextTable table;
  table.add_column("submitter", Align::kLeft);
  table.add_column("system", Align::kLeft);
  table.add_column("score", Align::kRight);
  table.add_row({"Org", name, "1.25"});
  return table;
}

TEST(TextTable, ShowsNoControlCharacters) {
  analysis::report::TextTable table;
  table.add_column("what\x1b[2J", Align::kLeft);
  table.add_row({"\x1b]0;PWN\x07\xe2\x80\xae"});
  EXPECT_EQ(written(table, 40), "  what?[2J\n  ?]0;PWN??\n");
  std::ostringstream markdown;
  table.write_markdown(markdown);
  EXPECT_EQ(markdown.str().find('\x1b'), std::string::npos);
}

TEST(TextTable, BreaksNamesWhereTheirPartsJoin) {
  EXPECT_EQ(written(systems("first_part-second_part_of_a_name"), 42),
            "  submitter  system                  score\n"
            "  Org        first_part-second_       1.25\n"
            "             part_of_a_name\n");
}

TEST(TextTable, LosesNothingOfANameWithoutParts) {
  const std::string text = written(systems(std::string(30, 'x') + std::string(10, 'y')), 40);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 30);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'y') - 1, 10) << "system has one, too";
}

}  // namespace

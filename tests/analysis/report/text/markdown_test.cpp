// Escaping of Markdown, and reports as Markdown.
#include "analysis/report/text/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/report/text/report.h"

namespace {

using analysis::report::Definitions;
using analysis::report::Detail;
using analysis::report::markdown_text;
using analysis::report::TextForm;
using analysis::report::TextPage;
using analysis::report::TextTable;
using testing::HasSubstr;

TEST(Markdown, ShowsEveryCharacterAsItIs) {
  EXPECT_EQ(markdown_text("plain text, 1.5 (a) - b: c"), "plain text, 1.5 (a) - b: c");
  EXPECT_EQ(markdown_text("a|b*c_d`e<f>[g](h)&amp;\\"),
            "a\\|b\\*c\\_d\\`e\\<f\\>\\[g\\](h)\\&amp;\\\\");
  EXPECT_EQ(markdown_text("# no heading"), "\\# no heading");
  EXPECT_EQ(markdown_text("- no item"), "\\- no item");
  EXPECT_EQ(markdown_text("1. no item"), "1\\. no item");
  EXPECT_EQ(markdown_text("12) no item"), "12\\) no item");
  EXPECT_EQ(markdown_text("-0.5"), "-0.5");
  EXPECT_EQ(markdown_text("---"), "\\---");
  EXPECT_EQ(markdown_text("two\nlines\x1b[1m"), "two lines?\\[1m");
}

TEST(Markdown, IsWhatAPageBecomes) {
  std::ostringstream out;
  TextPage page(out, 40, TextForm::kMarkdown, Definitions::kShown);
  page.heading("A <heading>", {});
  page.fact("label", "text", {});
  page.item("an item");
  page.paragraph(page.defined("A paragraph", "outcome") + ".");
  TextTable table;
  table.add_column("name", TextTable::Align::kLeft);
  table.add_column("value", TextTable::Align::kRight);
  table.add_row({"a|b", "1"});
  page.table(table);
  page.write_definitions();
  EXPECT_THAT(out.str(), testing::StartsWith("## A \\<heading\\>\n\n- label: text\n- an item\n\n"
                                             "A paragraph.\n\n| name | value |\n| --- | ---: |\n"
                                             "| a\\|b | 1 |\n\n## Definitions\n\n"
                                             "- A paragraph (outcome): "));
}

/// All rows of a table have as many cells as its heading.
TEST(Markdown, OfEveryReportIsWellFormed) {
  for (const char* name : {"success", "set", "hostile", "malformed", "empty", "binary"}) {
    std::ostringstream out;
    TextPage page(out, 0, TextForm::kMarkdown);
    write_text(page, analysis::make_report({golden::folder(name)}), Detail::kFull);
    std::istringstream lines(out.str());
    std::size_t bars = 0, rows = 0;
    for (std::string line; std::getline(lines, line);) {
      std::size_t found = 0;
      for (std::size_t i = 0; i < line.size(); ++i) {
        found += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
      }
      EXPECT_TRUE(found == 0 || line.starts_with("|")) << name << ": " << line;
      if (bars > 0 && found > 0) {
        EXPECT_EQ(found, bars) << name << ": " << line;
      }
      rows += found > 0 ? 1 : 0;
      bars = found;
      for (std::size_t at = 0; (at = line.find('<', at)) != std::string::npos; ++at) {
        EXPECT_TRUE(at > 0 && line[at - 1] == '\\') << name << ": " << line;
      }
    }
    if (std::string(name) == "set") {
      EXPECT_GT(rows, 5u);
    }
  }
}

}  // namespace

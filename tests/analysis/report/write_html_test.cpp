// The HTML report: well-formed, closed to what a log would inject, and without a network.
// Hides a small reader of tags.
#include "analysis/report/write_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analysis/golden.h"
#include "analysis/report/html.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using testing::HasSubstr;
using testing::Not;

std::string html_of(const std::string& name) {
  return report_html(analysis::report::make_report({golden::folder(name)}));
}

struct Page {
  std::vector<std::string> scripts;     ///< contents
  std::multiset<std::string> tags;      ///< opened
  std::vector<std::string> attributes;  ///< whole opening tags
  std::string fault;                    ///< first thing that is not well-formed
};

/// Whether an attribute begins with "on"; what stands in quotes is text.
bool has_event_handler(const std::string& tag) {
  std::string names;
  bool quoted = false;
  for (const char c : tag) {
    if (c == '"') quoted = !quoted;
    if (!quoted) names += c;
  }
  return names.find(" on") != std::string::npos;
}

/// Reads tags with quoted attributes; script and style hold text up to their closing tag.
Page read_page(const std::string& html) {
  const std::set<std::string> kVoid = {"meta", "input", "!DOCTYPE", "br"};
  Page page;
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = html.find('<', at)) != std::string::npos) {
    bool quoted = false;
    std::size_t end = at;
    while (end < html.size() && (html[end] != '>' || quoted)) quoted ^= html[end++] == '"';
    const std::string tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) {
        page.fault = "closing " + tag + " in " + (open.empty() ? "nothing" : open.back());
        return page;
      }
      open.pop_back();
      continue;
    }
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    page.tags.insert(name);
    page.attributes.push_back(tag);
    if (kVoid.contains(name)) continue;
    open.push_back(name);
    if (name != "script" && name != "style") continue;
    const std::size_t close = html.find("</" + name, at);
    if (name == "script") page.scripts.push_back(html.substr(at, close - at));
    at = close;
  }
  if (!open.empty()) page.fault = open.back() + " is never closed";
  return page;
}

TEST(HtmlReport, IsWellFormed) {
  for (const char* name : {"success", "set", "hostile", "malformed", "empty", "binary"}) {
    EXPECT_EQ(read_page(html_of(name)).fault, "") << name;
  }
}

TEST(HtmlReport, TakesNoMarkupFromALog) {
  const std::string html = html_of("hostile");
  const Page page = read_page(html);
  EXPECT_EQ(page.scripts.size(), 3u) << "data, library, drawing";
  EXPECT_EQ(page.tags.count("img"), 0u);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  for (const std::string& tag : page.attributes) {
    EXPECT_FALSE(has_event_handler(tag)) << "an event handler in <" << tag << ">";
  }
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(HtmlReport, TakesNoMarkupFromFileNames) {
  const base::TemporaryDirectory folder;
  folder.write("result_<script>alert(3)<!--.txt",
               base::content(golden::folder("success") + "/result_1.txt"));
  const Page page = read_page(report_html(analysis::report::make_report({folder.path().string()})));
  EXPECT_EQ(page.fault, "");
  EXPECT_EQ(page.scripts.size(), 3u);
}

TEST(HtmlReport, EmbedsItsDataAsJson) {
  const Page page = read_page(html_of("set"));
  const auto data = nlohmann::json::parse(page.scripts.at(0));
  ASSERT_EQ(data["convergence"].size(), 1u);
  EXPECT_EQ(data["convergence"][0]["series"].size(), 6u);
  EXPECT_EQ(data["convergence"][0]["target"], 0.8);
  ASSERT_EQ(data["breakdown"].size(), 1u);
  EXPECT_EQ(data["breakdown"][0]["labels"].size(), 6u);
  for (const auto& part : data["breakdown"][0]["parts"]) EXPECT_EQ(part["percent"].size(), 6u);
}

TEST(HtmlReport, NeedsNoNetwork) {
  const std::string html = html_of("success");
  const Page page = read_page(html);
  for (const std::string& tag : page.attributes) {
    EXPECT_EQ(tag.find(" src="), std::string::npos) << tag;
    EXPECT_EQ(tag.find(" href="), std::string::npos) << tag;
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(HtmlReport, HasATableBeneathEachChart) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  const std::string html = report_html(analysis::report::make_report({folder.path().string()}));
  std::size_t charts = 0;
  for (std::size_t at = 0; (at = html.find("<canvas", at)) != std::string::npos; ++at) {
    const std::size_t end = html.find("</section>", at);
    EXPECT_LT(html.find("<table>", at), end);
    ++charts;
  }
  EXPECT_EQ(charts, 2u);
  EXPECT_THAT(html, HasSubstr("Demo &lt;CPU&gt;"));
}

TEST(HtmlReport, NamesTheRankThatWasWaitedFor) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", golden::late_telemetry().dump());
  const std::string html = report_html(analysis::report::make_report({folder.path().string()}));
  EXPECT_EQ(read_page(html).fault, "");
  const std::size_t section = html.find("<h2>Who was waited for</h2>");
  ASSERT_NE(section, std::string::npos);
  EXPECT_THAT(html.substr(section), HasSubstr("node&lt;1&gt;"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  EXPECT_THAT(report_html(analysis::report::make_report({folder.path().string()})),
              HasSubstr("No rank in particular."));
}

TEST(JsonInScript, CannotEndTheScript) {
  EXPECT_EQ(analysis::report::json_in_script("\"</script>&\""), "\"\\u003c/script\\u003e\\u0026\"");
}

}  // namespace

// The HTML report: well-formed, safe from injection by a log, and independent of a network.
#include "analysis/report/html/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/oddities.h"
#include "analysis/own_log.h"
#include "analysis/report/html/element.h"
#include "analysis/report/made_scales.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using testing::HasSubstr;
using testing::Not;

std::string html_of(const std::string& name) {
  return analysis::report::report_html(analysis::make_report({golden::folder(name)}));
}

struct Page {
  std::vector<std::string> scripts;     ///< contents
  std::multiset<std::string> tags;      ///< opened
  std::vector<std::string> attributes;  ///< whole opening tags
  std::string fault;                    ///< first error in well-formedness, or ""
};

/// Whether the name of an attribute begins with "on". Quoted values are ignored.
bool has_event_handler(const std::string& tag) {
  std::string names;
  bool quoted = false;
  for (const char c : tag) {
    if (c == '"') quoted = !quoted;
    if (!quoted) names += c;
  }
  return names.find(" on") != std::string::npos;
}

/// Reads tags with quoted attributes. Script and style contain text up to their closing tag.
Page read_page(const std::string& html) {
  const std::set<std::string> kVoid = {"meta", "input", "!DOCTYPE", "br", "wbr"};
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

/// The charts' data by id.
std::map<std::string, nlohmann::json> charts_of(const Page& page) {
  const auto data = nlohmann::json::parse(page.scripts.at(0));
  std::map<std::string, nlohmann::json> charts;
  for (const auto& chart : data["charts"]) charts[chart["id"]] = chart;
  return charts;
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
  const Page page =
      read_page(analysis::report::report_html(analysis::make_report({folder.path().string()})));
  EXPECT_EQ(page.fault, "");
  EXPECT_EQ(page.scripts.size(), 3u);
}

TEST(HtmlReport, EmbedsItsDataAsJson) {
  const Page page = read_page(html_of("set"));
  auto charts = charts_of(page);
  const nlohmann::json &convergence = charts["convergence0"], &parts = charts["parts"];
  EXPECT_EQ(convergence["series"].size(), 6u);
  EXPECT_EQ(convergence["target"], 0.8);
  EXPECT_EQ(parts["labels"].size(), 6u);
  for (const auto& part : parts["parts"]) EXPECT_EQ(part["percent"].size(), 6u);
  EXPECT_EQ(charts["spread0"]["rows"].size(), 1u);
}

TEST(HtmlReport, ChartsEachPartOfATarget) {
  own_log::Log log = own_log::clean("resnet");
  log["submission_benchmark"]["value"] = "maskrcnn";
  double quality = 0.1;
  log.each("eval_accuracy", [&](nlohmann::json& one) {
    one["value"] = {{"BBOX", quality += 0.1}, {"SEGM", quality - 0.05}};
  });
  const base::TemporaryDirectory folder;
  folder.write("result_0.txt", log.text());
  const std::string html =
      analysis::report::report_html(analysis::make_report({folder.path().string()}));
  auto charts = charts_of(read_page(html));
  EXPECT_EQ(charts["convergence0"]["metric"], "eval_accuracy BBOX");
  EXPECT_EQ(charts["convergence0"]["target"], 0.377);
  EXPECT_EQ(charts["convergence0"]["series"][0]["points"][2][2], 0.4);
  EXPECT_EQ(charts["convergence1"]["metric"], "eval_accuracy SEGM");
  EXPECT_EQ(charts["convergence1"]["target"], 0.339);
  EXPECT_EQ(charts["convergence1"]["better"], "more is better");
  EXPECT_EQ(charts["convergence1"]["series"][0]["points"][2][2], 0.35);
  EXPECT_THAT(html, HasSubstr("The dashed line is the target, &gt;= 0.339."));
}

/// Three systems of different sizes, with five runs each.
TEST(HtmlReport, ChartsSystemsSideBySide) {
  const base::TemporaryDirectory folder;
  for (const int nodes : {1, 2, 8}) {
    const std::string name = "n" + std::to_string(nodes);
    for (int i = 0; i < 5; ++i) {
      own_log::Log log = own_log::clean();
      log["global_batch_size"]["value"] = 64 * nodes;
      own_log::move(log["run_stop"], 100.0 * i + 10000.0 / nodes);
      folder.write("results/" + name + "/cosmoflow/result_" + std::to_string(i) + ".txt",
                   log.text());
    }
    folder.write("systems/" + name + ".json", nlohmann::json{{"number_of_nodes", nodes},
                                                             {"accelerators_per_node", 4},
                                                             {"accelerator_model_name", "X"},
                                                             {"host_processors_per_node", 2},
                                                             {"host_processor_model_name", "Y"},
                                                             {"division", "closed"}}
                                                  .dump());
  }
  const auto report = analysis::make_report({folder.path().string()});
  const Page page = read_page(analysis::report::report_html(report));
  EXPECT_EQ(page.fault, "");
  auto charts = charts_of(page);
  const nlohmann::json& scale = charts["scale0"];
  ASSERT_EQ(scale["groups"].size(), 1u);  // one kind of hardware
  EXPECT_EQ(scale["groups"][0]["name"], "4 X, 2 Y");
  const auto& points = scale["groups"][0]["points"];
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[2][0], 32.0);
  EXPECT_NEAR(points[2][1].get<double>(), *report.systems[2].facts.olympic_mean_s / 60.0, 1e-6);
  EXPECT_EQ(points[2][2], "n8");
  for (const auto& line : scale["lines"]) {  // equal budget at both ends
    const auto &from = line["points"][0], &to = line["points"][1];
    EXPECT_NEAR(from[0].get<double>() * from[1].get<double>(),
                to[0].get<double>() * to[1].get<double>(), 1e-4);
  }
  EXPECT_GE(scale["lines"].size(), 2u);
  EXPECT_EQ(charts["batch0"]["groups"][0]["points"][1][0], 128.0);
  EXPECT_EQ(charts["spread0"]["rows"][0]["values"].size(), 5u);
}

/// A page of a thousand logs has a bar per folder, limited tables, and a size fit for a mail.
TEST(HtmlReport, ExplainsAnEfficiencyAbove100PercentByCaches) {
  EXPECT_THAT(
      analysis::report::report_html(analysis::two_scales()),
      HasSubstr("large: efficiency above 100 %, where caches gave 75.0 % of the samples on 4 "
                "compute units, and 12.5 % on 1."));
  analysis::Report without = analysis::two_scales();
  without.systems[0].facts.olympic.cached_fraction.reset();
  EXPECT_THAT(analysis::report::report_html(without), Not(HasSubstr("above 100 %, where")));
}

TEST(HtmlReport, OfAThousandLogsStaysSmall) {
  const base::TemporaryDirectory folder;
  own_log::Log log = own_log::clean();
  for (int i = 0; i < 400; ++i) {  // 403 evaluations
    const nlohmann::json number = {{"epoch_num", 10 + i}};
    log.insert_before("run_stop", own_log::record(31000 + i, "eval_error", 0.3 + 1e-5 * i, number));
  }
  const std::string text = log.text();
  for (int i = 0; i < 1000; ++i) {
    folder.write("results/system_" + std::to_string(i / 10) + "/cosmoflow/result_" +
                     std::to_string(i % 10) + ".txt",
                 text);
  }
  const std::string html =
      analysis::report::report_html(analysis::make_report({folder.path().string()}));
  EXPECT_LT(html.size(), 5u << 20);
  const Page page = read_page(html);
  EXPECT_EQ(page.fault, "");
  auto charts = charts_of(page);
  EXPECT_EQ(charts["convergence0"]["series"].size(), 1000u);
  const auto& points = charts["convergence0"]["series"][999]["points"];
  EXPECT_LE(points.size(), 61u);
  EXPECT_GE(points.size(), 60u);
  EXPECT_EQ(points.front()[1], 13.0);  // the first evaluation, and the last
  EXPECT_NEAR(points.back()[1].get<double>(), 33.0, 1e-6);
  EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                          [](const auto& point) { return point[2] == 0.03; }));  // at the target
  EXPECT_THAT(html, HasSubstr("At most 61 evaluations of each run are drawn"));
  EXPECT_EQ(charts["parts"]["labels"].size(), 100u);
  EXPECT_THAT(html, HasSubstr("more rows, which JSON and CSV have"));
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
  folder.write("result_1.trace.json", golden::trace_text());
  const std::string html =
      analysis::report::report_html(analysis::make_report({folder.path().string()}));
  std::size_t charts = 0;
  for (std::size_t at = 0; (at = html.find("<canvas", at)) != std::string::npos; ++at) {
    const std::size_t end = html.find("</section>", at);
    EXPECT_LT(html.find("<table>", at), end);
    ++charts;
  }
  EXPECT_EQ(charts, 4u);  // convergence, subsystems, ranks, transfers
  EXPECT_THAT(html, HasSubstr("300.0 ms of computation and 300.0 ms in communication"));
  EXPECT_THAT(html, HasSubstr("Demo &lt;CPU&gt;"));
}

TEST(HtmlReport, NamesTheRankThatWasWaitedFor) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", golden::late_telemetry().dump());
  const std::string html =
      analysis::report::report_html(analysis::make_report({folder.path().string()}));
  EXPECT_EQ(read_page(html).fault, "");
  const std::size_t section = html.find("<h2>Who was waited for</h2>");
  ASSERT_NE(section, std::string::npos);
  EXPECT_THAT(html.substr(section), HasSubstr("node&lt;1&gt;"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  EXPECT_THAT(analysis::report::report_html(analysis::make_report({folder.path().string()})),
              HasSubstr("No rank in particular."));
}

TEST(JsonInScript, CannotEndTheScript) {
  EXPECT_EQ(analysis::report::json_in_script("\"</script>&\""), "\"\\u003c/script\\u003e\\u0026\"");
}

}  // namespace

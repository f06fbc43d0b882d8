// Findings as SARIF and as JUnit XML, read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/findings/rule_catalogue.h"
#include "analysis/report/json/sarif.h"
#include "analysis/report/xml/junit.h"
#include "analysis/report/xml_reader.h"

namespace {

using analysis::JudgedFile;
using analysis::make_finding;
using analysis::Rule;
using analysis::Verdict;
using analysis::report::findings_junit;
using analysis::report::findings_sarif;
using nlohmann::json;
using testing::HasSubstr;

std::vector<JudgedFile> two_files() {
  JudgedFile good{"box/result_0.txt", Verdict::kSuccess, "", {}};
  good.findings.push_back(make_finding(Rule::kPlaceholder, {3, 1}, "submission_org is \"x\""));
  JudgedFile bad{"box/result 1.txt", Verdict::kFail, "", {}};
  bad.findings.push_back(
      {mllog::Finding::Severity::kError, 12, 9, "seed: expected 1, found 0", "hpc-1.0.0/seed"});
  bad.findings.push_back(make_finding(Rule::kRunStopMissing, {}, "no run_stop"));
  return {good, bad};
}

/// Markup, invalid UTF-8 sequences, and every byte.
std::string hostile() {
  std::string text = "]]>--><!&\"' \xef\xbf\xbe \xef\xbf\xbf \xed\xa0\x80 \xf4\x90\x80\x80 ";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  return text;
}

std::vector<JudgedFile> hostile_files() {
  const mllog::Finding finding{mllog::Finding::Severity::kError, 1, 1, hostile(), hostile()};
  return {{hostile(), Verdict::kFail, "", {finding}},
          {hostile(), Verdict::kUnknown, hostile(), {finding}},
          {hostile(), Verdict::kSuccess, "", {finding}}};
}

json sarif_of(const std::vector<JudgedFile>& files) {
  return json::parse(findings_sarif(files, "1.2.3"));
}

// The properties that the schema of SARIF 2.1.0 (OASIS standard) requires of each object.

void expect_members(const json& object, const std::vector<std::string>& required) {
  ASSERT_TRUE(object.is_object()) << object;
  for (const std::string& name : required) {
    EXPECT_TRUE(object.contains(name)) << name << " is missing in " << object;
  }
}

void expect_message(const json& message) {
  expect_members(message, {"text"});
  EXPECT_TRUE(message["text"].is_string());
}

void expect_valid_result(const json& result, const json& rules, std::size_t artifacts) {
  expect_members(result, {"message"});
  expect_message(result["message"]);
  EXPECT_THAT(result["level"].get<std::string>(), testing::AnyOf("note", "warning", "error"));
  const auto index = result["ruleIndex"].get<std::size_t>();
  ASSERT_LT(index, rules.size());
  EXPECT_EQ(rules[index]["id"], result["ruleId"]);
  for (const json& location : result["locations"]) {
    const json& physical = location["physicalLocation"];
    EXPECT_LT(physical["artifactLocation"]["index"].get<std::size_t>(), artifacts);
    if (!physical.contains("region")) continue;
    EXPECT_GE(physical["region"]["startLine"].get<int>(), 1);
    EXPECT_GE(physical["region"].value("startColumn", 1), 1);
  }
}

void expect_valid(const json& document) {
  expect_members(document, {"version", "runs"});
  EXPECT_EQ(document["version"], "2.1.0");
  for (const json& run : document["runs"]) {
    expect_members(run, {"tool"});
    expect_members(run["tool"], {"driver"});
    const json& driver = run["tool"]["driver"];
    expect_members(driver, {"name"});
    std::map<std::string, int> ids;
    for (const json& rule : driver["rules"]) {
      expect_members(rule, {"id"});
      EXPECT_EQ(++ids[rule["id"].get<std::string>()], 1) << rule["id"];
      if (rule.contains("shortDescription")) expect_message(rule["shortDescription"]);
      if (rule.contains("help")) expect_message(rule["help"]);
    }
    for (const json& result : run["results"]) {
      expect_valid_result(result, driver["rules"], run["artifacts"].size());
    }
  }
}

TEST(Sarif, HasWhatItsSchemaRequires) {
  expect_valid(sarif_of(two_files()));
  expect_valid(sarif_of({}));
  expect_valid(sarif_of(hostile_files()));
}

TEST(Sarif, DescribesEveryRuleOfTheCatalogue) {
  const json document = sarif_of({});
  const json& rules = document["runs"][0]["tool"]["driver"]["rules"];
  const auto& catalogue = analysis::rule_catalogue();
  ASSERT_EQ(rules.size(), catalogue.size());
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    EXPECT_EQ(rules[i]["id"], catalogue[i].id);
    EXPECT_EQ(rules[i]["shortDescription"]["text"], catalogue[i].meaning);
    EXPECT_EQ(rules[i].contains("help"), !catalogue[i].advice.empty()) << catalogue[i].id;
  }
}

TEST(Sarif, TellsVerdictsFindingsAndPlaces) {
  const json document = sarif_of(two_files());
  const json& run = document["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["version"], "1.2.3");
  EXPECT_EQ(run["artifacts"][0]["properties"]["verdict"], "SUCCESS");
  EXPECT_EQ(run["artifacts"][1]["properties"]["verdict"], "FAIL");
  const json& results = run["results"];
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0]["ruleId"], "placeholder");
  EXPECT_EQ(results[0]["level"], "warning");
  EXPECT_EQ(results[0]["locations"][0]["physicalLocation"]["region"],
            (json{{"startLine", 3}, {"startColumn", 1}}));
  EXPECT_EQ(results[1]["ruleId"], "verdict");
  EXPECT_EQ(results[2]["ruleId"], "hpc-1.0.0/seed");
  EXPECT_EQ(results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "box/result%201.txt");
  EXPECT_FALSE(results[3]["locations"][0]["physicalLocation"].contains("region"));
}

TEST(Junit, IsWellFormedWhateverTheTextsHold) {
  for (const auto& files : {two_files(), hostile_files(), std::vector<JudgedFile>{}}) {
    const std::string text = findings_junit(files, hostile());
    golden::Xml xml(text);
    EXPECT_TRUE(xml.is_well_formed()) << text;
    EXPECT_EQ(xml.elements("testcase").size(), files.size());
    // dump() throws for invalid UTF-8.
    EXPECT_NO_THROW(static_cast<void>(json(text).dump()));
  }
}

TEST(Junit, CountsTestsAndFailures) {
  const std::string text = findings_junit(two_files(), "trainmark check");
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"trainmark check\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"box\" name=\"result 1.txt\">"));
  EXPECT_THAT(text, HasSubstr("<failure type=\"verdict\" message=\"seed: expected 1, found 0\">"));
}

TEST(Junit, TellsFindingsOfFilesThatPass) {
  const std::string text = findings_junit(two_files(), "check");
  EXPECT_THAT(text, HasSubstr("<system-out>box/result_0.txt:3:1: warning: submission_org is "
                              "&quot;x&quot; [placeholder]\n</system-out>"));
}

}  // namespace

// The command `compare`.
#include "analysis/command/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/oddities.h"
#include "analysis/own_log.h"
#include "analysis/report/json/schema.h"
#include "analysis/report/schema_check.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using analysis::command::compare;
using analysis::command::CompareOptions;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Compare : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<double>& times) {
    const json result = {{"batch_per_rank", 8}, {"ranks", 1}, {"step_s", {{"times", times}}}};
    return folder_.write(name, result.dump());
  }
  std::string run() {
    std::ostringstream out;
    EXPECT_EQ(compare(options_, out, people_, 100), base::ExitCode::kSuccess);
    return out.str();
  }
  base::TemporaryDirectory folder_;
  CompareOptions options_;
  std::ostringstream people_;
};

TEST_F(Compare, SaysWhichIsFasterOrThatNobodyCanTell) {
  const std::string a = write("a.json", {2.0, 2.1, 2.2, 2.1, 2.1}),
                    b = write("b.json", {1.0, 1.05, 1.0, 1.1, 1.1});
  const std::string c = write("c.json", {2.1, 2.0, 2.2, 2.15, 2.125});
  options_.paths = {a, b, c};
  EXPECT_THAT(run(), AllOf(HasSubstr("a.json: 3.81 samples/s (median of 5 steps of 2 to 2.2 s)\n"),
                           HasSubstr("b.json is 2.000 times as fast as "),
                           HasSubstr("a.json are not distinguishable: ratio 0.988")));
  options_.json = "-";
  const json document = json::parse(run());
  EXPECT_EQ(document["comparisons"].size(), 2u);
  EXPECT_EQ(document["comparisons"][0]["distinguishable"], true);
  EXPECT_EQ(document["comparisons"][1]["distinguishable"], false);
  EXPECT_TRUE(document["definitions"].contains("p_value"));
}

TEST_F(Compare, NeverWritesOverWhatItReads) {
  options_.paths = {write("a.json", {1, 1, 1}), write("b.json", {1, 1, 1})};
  options_.json = options_.paths[1];
  const std::string before = base::content(options_.json);
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("is one of the files that are read"));
  EXPECT_EQ(base::content(options_.json), before);
}

TEST_F(Compare, NeedsTwoFilesThatAreThere) {
  options_.paths = {write("a.json", {1, 1, 1})};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("expected at least two paths, got 1"));
  options_.paths.push_back("nowhere.json");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              AllOf(HasSubstr("bench results alone or logs alone"), HasSubstr("nowhere.json")));
  options_.paths = {options_.paths[0], ""};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }), HasSubstr("and ''"));
  options_.paths = {"nowhere", "nowhere else"};
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }), HasSubstr("nowhere: "));
}

TEST_F(Compare, TellsLayersOfBothBenchResults) {
  const auto with_layers = [&](const std::string& name, double conv_ms) {
    const json layers = {{{"name", "conv1"}, {"forward_ms", conv_ms}, {"backward_ms", 1.0}},
                         {{"name", "fc"}, {"forward_ms", 0.5}, {"backward_ms", 0.5}}};
    const json result = {{"batch_per_rank", 8},
                         {"ranks", 1},
                         {"step_s", {{"times", {1.0, 1.1, 1.0}}}},
                         {"layers", layers}};
    return folder_.write(name, result.dump());
  };
  options_.paths = {with_layers("a.json", 2.0), with_layers("b.json", 5.0)};
  EXPECT_THAT(run(), HasSubstr("layer conv1: 3.000 and 6.000 ms (+3.000 ms)\n  layer fc: "));
  options_.json = "-";
  const json document = json::parse(run());
  EXPECT_EQ(schema_check::fault(analysis::report::compare_schema_text(), document), "");
  const json layer = document["comparisons"][0]["layers"][0];
  EXPECT_EQ(layer["name"], "conv1");
  EXPECT_NEAR(layer["difference_s"].get<double>(), 3e-3, 1e-12);
  options_.paths[1] = folder_.write(
      "c.json",
      R"({"batch_per_rank":8,"ranks":1,"step_s":{"times":[1,1,1]},"layers":[{"name":1}]})");
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }), HasSubstr("/layers: must"));
}

TEST_F(Compare, ReadsResultsOfBenchExchange) {
  const auto exchange = [&](const std::string& name, const std::vector<double>& times) {
    const json side = {{"time_s", {{"times", times}}}, {"busbw_bytes_per_s", 1e9}};
    const json row = {
        {"operation", "alltoall"}, {"bytes", 4096}, {"training", side}, {"mpi", side}};
    const json result = {{"kind", "exchange"}, {"ranks", 2}, {"rows", json::array({row})}};
    return folder_.write(name, result.dump());
  };
  options_.paths = {exchange("a.json", {2e-3, 2.1e-3, 2.2e-3, 2e-3, 2.1e-3}),
                    exchange("b.json", {1e-3, 1.1e-3, 1.2e-3, 1e-3, 1.1e-3})};
  EXPECT_THAT(run(), AllOf(HasSubstr("alltoall                 4096 mpi            2100.00      "
                                     "1100.00    1.909    0.016  faster"),
                           HasSubstr(" training ")));
  options_.json = "-";
  json document = json::parse(run());
  EXPECT_EQ(schema_check::fault(analysis::report::compare_schema_text(), document), "");
  EXPECT_EQ(document["comparisons"][0]["rows"].size(), 2u);
  document["comparisons"][0]["rows"][0]["side"] = "nccl";
  EXPECT_NE(schema_check::fault(analysis::report::compare_schema_text(), document), "");
  options_.paths[1] = write("c.json", {1, 1, 1});
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("expected results of one bench"));
}

class CompareLogs : public Compare {
 protected:
  /// Writes `runs` runs to a folder; run i takes `more_s` + 0.1 i seconds longer than a clean one.
  std::string write_set(const std::string& name, int runs, double more_s,
                        const std::string& benchmark = "cosmoflow") {
    for (int i = 0; i < runs; ++i) {
      own_log::Log log = own_log::clean(benchmark);
      own_log::move(log["run_stop"], 1000.0 * (more_s + 0.1 * i));
      folder_.write(name + "/result_" + std::to_string(i) + ".txt", log.text());
    }
    return (folder_.path() / name).string();
  }
};

TEST_F(CompareLogs, SaysWhatTakesLongerByWhichFactor) {
  options_.paths = {write_set("a", 5, 0.0), write_set("b", 5, 10.0)};
  const std::string text = run();
  EXPECT_THAT(
      text, AllOf(HasSubstr("cosmoflow: B against A"), HasSubstr("B takes 1.3 times the time of A"),
                  HasSubstr("(p 0.0079)"), HasSubstr("\n  other ")));
  options_.json = "-";
  const json group = json::parse(run())["groups"][0];
  EXPECT_EQ(group["sides"][0]["label"], "A");
  EXPECT_EQ(group["sides"][1]["successful"], 5);
  const json& comparison = group["comparisons"][0];
  EXPECT_NEAR(comparison["total"]["first"].get<double>(), 33.2, 1e-9);
  EXPECT_NEAR(comparison["total"]["second"].get<double>(), 43.2, 1e-9);
  double product = 1.0;
  for (const json& factor : comparison["factors"]) product *= factor["ratio"].get<double>();
  EXPECT_NEAR(product, 43.2 / 33.2, 1e-9);
  EXPECT_EQ(comparison["factors"][3]["name"], "other");
  EXPECT_EQ(comparison["factors"][3]["distinguishable"], true);
  EXPECT_EQ(comparison["factors"][0]["distinguishable"], false);
  EXPECT_EQ(comparison["unequal"], json::array());
}

TEST_F(Compare, PrintsTheSchemaOfItsJson) {
  options_.schema = true;
  EXPECT_EQ(run(), analysis::report::compare_schema_text());
  options_.paths = {"somewhere"};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--schema takes no PATH, got somewhere"));
}

TEST_F(CompareLogs, LeavesNamesOfFiguresWholeIn80Columns) {
  options_.paths = {write_set("a", 5, 0.0), write_set("b", 5, 10.0)};
  std::ostringstream out;
  compare(options_, out, people_, 80);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("time to train "), testing::Not(HasSubstr("time.. "))));
}

TEST_F(CompareLogs, WritesTablesAndMarkdown) {
  options_.definitions = true;
  options_.paths = {write_set("a", 5, 0.0), write_set("b", 5, 10.0)};
  options_.csv = (folder_.path() / "figures.csv").string();
  options_.markdown = (folder_.path() / "comparison.md").string();
  run();
  const std::string csv = base::content(options_.csv);
  EXPECT_THAT(csv, testing::StartsWith("benchmark,first,second,figure,unit,first_value,"));
  EXPECT_THAT(csv, AllOf(HasSubstr(",time to train,s,33.2,43.19"), HasSubstr(",true\r\n")));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_THAT(base::content(options_.markdown),
              AllOf(HasSubstr("## B takes 1.3 times"), HasSubstr("| time to train | 33.2 "),
                    HasSubstr("\n## Definitions\n")));
  options_.paths = {write("a.json", {1, 1, 1}), write("b.json", {1, 1, 1})};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--csv and --markdown are for logs"));
}

TEST_F(CompareLogs, PairsSetsOfSubmissionsByTheirFolders) {
  write_set("one/results/small/cosmoflow", 3, 0.0);
  write_set("one/results/large/cosmoflow", 3, 5.0);
  write_set("one/results/large/deepcam", 3, 0.0, "deepcam");
  write_set("two/results/large/cosmoflow", 3, 6.0);
  write_set("two/results/other/cosmoflow", 3, 7.0);
  options_.paths = {(folder_.path() / "one").string(), (folder_.path() / "two").string()};
  options_.json = "-";
  const json document = json::parse(run());
  ASSERT_EQ(document["groups"].size(), 2u);
  const auto name = [&](int group, int side) {
    const std::string whole = document["groups"][group]["sides"][side]["name"];
    return whole.substr(folder_.path().string().size() + 1);
  };
  EXPECT_EQ(name(0, 0), "one/results/large/cosmoflow");
  EXPECT_EQ(name(0, 1), "two/results/large/cosmoflow");
  EXPECT_EQ(document["groups"][0]["sides"][0]["label"], "A1");
  // A set without a namesake in the first path is compared with the fastest set there.
  EXPECT_EQ(name(1, 0), "one/results/small/cosmoflow");
  EXPECT_EQ(name(1, 1), "two/results/other/cosmoflow");
  EXPECT_EQ(document["left_out"], json::array({options_.paths[1] + " has no runs of deepcam"}));
}

TEST_F(CompareLogs, SaysWhatIsNotEqual) {
  const std::string a = write_set("a", 3, 0.0), b = write_set("b", 3, 0.0);
  for (int i = 0; i < 3; ++i) {
    own_log::Log log = own_log::clean();
    log["global_batch_size"]["value"] = 128;
    log["submission_division"]["value"] = "open";
    folder_.write("b/result_" + std::to_string(i) + ".txt", log.text());
  }
  options_.paths = {a, b};
  EXPECT_THAT(run(), AllOf(HasSubstr("Not equal (A | B)"), HasSubstr("- division: closed | open"),
                           HasSubstr("- global_batch_size: 64 | 128"),
                           HasSubstr("3 and 3 runs are too few")));
}

TEST_F(CompareLogs, MultipliesTimesByNodes) {
  options_.paths = {write_set("a", 3, 0.0), write_set("b", 3, 0.0)};
  options_.per = analysis::comparison::Per::kNode;
  EXPECT_THAT(run(), HasSubstr("B takes 1 times the node seconds of A"));
  options_.per = analysis::comparison::Per::kUnit;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("a: --baseline unit: neither its logs nor"));
  options_.paths = {write("a.json", {1, 1, 1}), write("b.json", {1, 1, 1})};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--baseline, --csv and --markdown are for logs"));
}

TEST_F(CompareLogs, RefusesSidesWithoutABenchmarkInCommon) {
  options_.paths = {write_set("a", 3, 0.0), write_set("b", 3, 0.0, "deepcam")};
  EXPECT_THAT(
      base::thrown_message<base::DataError>([&] { run(); }),
      AllOf(HasSubstr("expected a benchmark in common"), HasSubstr("a has no runs of deepcam")));
  options_.paths[1] = folder_.write("b.txt", "nothing\n");
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }),
              HasSubstr("expected logs, found none that can be read"));
}

TEST_F(CompareLogs, TellsOfADamagedConfigurationOrTrace) {
  options_.paths = {write_set("a", 3, 0.0), write_set("b", 3, 0.0)};
  folder_.write("b/result_1.config.json", "[]");
  {
    std::ostringstream out;
    EXPECT_EQ(compare(options_, out, people_, 100), base::ExitCode::kIncomplete);
    EXPECT_THAT(people_.str(), HasSubstr("result_1.config.json"));
    EXPECT_THAT(out.str(), HasSubstr("B against A"));
  }
  folder_.write("b/result_1.config.json", "{}");
  folder_.write("a/result_0.trace.json", "{");
  std::ostringstream out;
  EXPECT_EQ(compare(options_, out, people_, 100), base::ExitCode::kIncomplete);
  EXPECT_THAT(people_.str(), HasSubstr("result_0.trace.json: byte"));
  EXPECT_THAT(out.str(), HasSubstr("B against A"));
}

}  // namespace

// What reports tell of a run's staging, and what of its metadata they refuse.
#include "analysis/staging_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/definitions.h"
#include "analysis/golden.h"
#include "analysis/own_log.h"
#include "analysis/report/csv/report.h"
#include "analysis/report/html/report.h"
#include "analysis/report/json/report.h"
#include "analysis/report/text/report.h"
#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::RunReport;
using analysis::StagedSet;
using nlohmann::json;
using own_log::Log;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json train_set() {
  return json::parse(R"({"mode": "shard", "nodes": 4, "reused_nodes": 1, "reused": false,
    "packs": 60, "samples": 1200, "bytes": 1073741824, "resumed_bytes": 1048576,
    "overlap": true, "left_bytes": 4096,
    "source_reads": 77, "source_bytes": 536870912, "network_bytes": 268435456, "direct_bytes": 33554432, "memory_bytes": 268435456,
    "written_bytes": 806354944, "planning_s": 0.25,
    "seconds": {"min": 0.5, "median": 2.5, "max": 3.0},
    "bytes_per_second": {"min": 4.1e7, "median": 3.1e8, "mean": 2.5e8, "max": 4e8},
    "imbalance": 1.25,
    "slowest": [{"host": "node7", "seconds": 3.0, "bytes_per_second": 4.1e7},
                {"host": "node3", "seconds": 2.5, "bytes_per_second": 3.1e8}]})");
}

/// A clean log, of which 3 of 33 s are staging.
Log log_with(const json& staging) {
  Log log = own_log::clean();
  log["staging_stop"]["metadata"]["staging"] = staging;
  return log;
}

RunReport staged_run(const json& staging) { return own_log::judged(log_with(staging)); }

TEST(StagedSets, AreReadFromTheLog) {
  const RunReport run = staged_run({{"train", train_set()}, {"validation", {{"mode", "stream"}}}});
  EXPECT_THAT(run.findings, IsEmpty());
  ASSERT_EQ(run.facts.staged_sets.size(), 2U);
  const StagedSet& set = run.facts.staged_sets[0];
  EXPECT_EQ(set.name, "train");
  EXPECT_EQ(set.mode, "shard");
  EXPECT_EQ(set.nodes, 4);
  EXPECT_EQ(set.reused_nodes, 1);
  EXPECT_EQ(set.packs, 60);
  EXPECT_EQ(set.samples, 1200);
  EXPECT_EQ(set.bytes, 1073741824);
  EXPECT_EQ(set.resumed_bytes, 1048576);
  EXPECT_EQ(set.overlaps, true);
  EXPECT_EQ(set.left_bytes, 4096);
  EXPECT_EQ(set.source_reads, 77);
  EXPECT_EQ(set.source_bytes, 536870912);
  EXPECT_EQ(set.network_bytes, 268435456);
  EXPECT_EQ(set.direct_bytes, 33554432);
  EXPECT_EQ(set.memory_bytes, 268435456);
  EXPECT_EQ(set.written_bytes, 806354944);
  EXPECT_EQ(set.planning_s, 0.25);
  EXPECT_EQ(set.seconds.min, 0.5);
  EXPECT_EQ(set.seconds.median, 2.5);
  EXPECT_EQ(set.seconds.max, 3.0);
  EXPECT_EQ(set.bytes_per_second.mean, 2.5e8);
  EXPECT_EQ(set.imbalance, 1.25);
  ASSERT_EQ(set.slowest.size(), 2U);
  EXPECT_EQ(set.slowest[0].host, "node7");
  EXPECT_EQ(slowest_text(set), "node7 41 MB/s, node3 310 MB/s");
  EXPECT_FALSE(run.facts.staged_sets[1].is_copied());
  EXPECT_FALSE(run.facts.staged_sets[1].bytes);
}

TEST(StagedSets, OfEarlierVersionsLackFigures) {
  const RunReport run = staged_run(json::parse(R"({"train": {"mode": "shard", "nodes": 2,
      "reused_nodes": 0, "reused": false, "files": 9, "samples": 8, "bytes": 100,
      "source_reads": 8, "seconds": 1.5,
      "bytes_per_second": {"min": 10.0, "mean": 20.0, "max": 30.0}}})"));
  EXPECT_THAT(run.findings, IsEmpty());
  const StagedSet& set = run.facts.staged_sets.at(0);
  EXPECT_EQ(set.packs, 9);
  EXPECT_EQ(set.seconds.max, 1.5);
  EXPECT_FALSE(set.seconds.min);
  EXPECT_EQ(set.bytes_per_second.mean, 20.0);
  EXPECT_FALSE(set.bytes_per_second.median);
  EXPECT_FALSE(set.source_bytes);
  EXPECT_THAT(set.slowest, IsEmpty());
}

TEST(StagedSets, AreAbsentFromLogsOfOthers) {
  EXPECT_THAT(own_log::judged(own_log::clean()).facts.staged_sets, IsEmpty());
  const RunReport other = staged_run({{"bytes", 12}, {"how", {{"tool", "rsync"}}}});
  EXPECT_THAT(other.facts.staged_sets, IsEmpty());
  EXPECT_THAT(other.findings, IsEmpty());
}

struct DamagedFigure {
  const char* path;  ///< in the set
  json value;
  const char* expected;  ///< of the finding
};

TEST(StagedSets, LeaveOutWhatIsDamagedAndSaySo) {
  const std::string kNotNegative = "a finite number that is not negative";
  for (const DamagedFigure& damage :
       {DamagedFigure{"/mode", 3, "/staging/train/mode: expected a text of 1 to 256 bytes, got 3"},
        DamagedFigure{"/mode", "",
                      "/staging/train/mode: expected a text of 1 to 256 bytes, got \"\""},
        DamagedFigure{"/nodes", "4", "/staging/train/nodes: expected an integer from 0 to"},
        DamagedFigure{"/nodes", 4.5, "/staging/train/nodes: expected an integer from 0 to"},
        DamagedFigure{"/bytes", -1, "/staging/train/bytes: expected an integer from 0 to"},
        DamagedFigure{"/bytes", 9223372036854775808u, "got 9223372036854775808"},
        DamagedFigure{"/packs", 1e300, "/staging/train/packs: expected an integer from 0 to"},
        DamagedFigure{"/source_bytes", nullptr, "/staging/train/source_bytes: expected an integer"},
        DamagedFigure{"/reused_nodes", 5,
                      "/staging/train/reused_nodes: expected at most 4 nodes, got 5"},
        DamagedFigure{"/overlap", 1, "/staging/train/overlap: expected true or false, got 1"},
        DamagedFigure{"/imbalance", "1", "/staging/train/imbalance: expected a finite number"},
        DamagedFigure{"/planning_s", -0.5, "/staging/train/planning_s: expected a finite number"},
        DamagedFigure{"/seconds", json::array(), "/staging/train/seconds: expected an object or a"},
        DamagedFigure{"/seconds", -1, "/staging/train/seconds: expected a finite number"},
        DamagedFigure{"/seconds/median", "x", "/staging/train/seconds/median: expected a finite"},
        DamagedFigure{"/seconds/min", 3.5,
                      "/staging/train/seconds: expected min, median and max to"},
        DamagedFigure{"/bytes_per_second/mean", 5e8,
                      "/staging/train/bytes_per_second: expected min,"},
        DamagedFigure{"/slowest", 3,
                      "/staging/train/slowest: expected an array of at most 16 nodes"},
        DamagedFigure{"/slowest", json::array({3}),
                      "expected nodes with host, seconds and bytes_per"},
        DamagedFigure{"/slowest/1/host", 7,
                      "/staging/train/slowest/1/host: expected a text of 1 to"},
        DamagedFigure{"/slowest/0/seconds", -1,
                      "/staging/train/slowest/0/seconds: expected a finite"}}) {
    json set = train_set();
    set[json::json_pointer(damage.path)] = damage.value;
    const RunReport run = staged_run({{"train", set}});
    EXPECT_THAT(own_log::rules_of(run.findings), ElementsAre("staging-facts-damaged"));
    EXPECT_THAT(own_log::found(run, "staging-facts-damaged").text, HasSubstr(damage.expected));
    EXPECT_EQ(own_log::found(run, "staging-facts-damaged").line,
              log_with(json()).line("staging_stop"));
    // The other figures remain.
    if (std::string_view(damage.path) == "/mode") {
      EXPECT_THAT(run.facts.staged_sets, IsEmpty());
    } else {
      EXPECT_EQ(run.facts.staged_sets.at(0).samples, 1200) << damage.path;
    }
    EXPECT_EQ(run.facts.parts.staging_s, 3.0);
  }
  const RunReport run = staged_run({{"train", {{"mode", "full"}, {"bytes", -1}, {"nodes", -1}}}});
  EXPECT_THAT(run.findings.at(0).text, testing::EndsWith(" (and 1 more such)"));
  EXPECT_FALSE(run.facts.staged_sets.at(0).bytes);
}

TEST(StagedSets, AreAFewOfWhateverTheLogHolds) {
  for (const json& damaged : {json("all"), json(7), json::array({train_set()})}) {
    const RunReport run = staged_run(damaged);
    EXPECT_THAT(run.facts.staged_sets, IsEmpty());
    EXPECT_THAT(own_log::found(run, "staging-facts-damaged").text,
                HasSubstr("staging_stop: metadata /staging: expected an object, got "));
  }
  json many;
  for (int i = 0; i < 100; ++i) many["set" + std::to_string(i)] = train_set();
  const RunReport run = staged_run(many);
  EXPECT_EQ(run.facts.staged_sets.size(), 16U);
  EXPECT_THAT(own_log::rules_of(run.findings), ElementsAre("staging-facts-damaged"));
  // Infinite numbers are none of JSON, but of Python's.
  std::string text = log_with({{"train", train_set()}}).text();
  text.replace(text.find("1.25"), 4, "Infinity");
  const RunReport infinite = own_log::judged(text);
  EXPECT_FALSE(infinite.facts.staged_sets.at(0).imbalance);
  EXPECT_THAT(own_log::rules_of(infinite.findings), ElementsAre("staging-facts-damaged"));
}

TEST(StagedSets, AreThoseOfTheFirstRecordThatTells) {
  Log log = log_with({{"train", train_set()}});
  json again = train_set();
  again["nodes"] = 9;
  log.insert_before("run_stop", own_log::record(33000, "staging_start"));
  log.insert_before("run_stop", own_log::record(33000, "staging_stop", nullptr,
                                                {{"staging", {{"train", again}}}}));
  EXPECT_EQ(own_log::judged(log).facts.staged_sets.at(0).nodes, 4);
}

TEST(StagingShares, AreThoseOfBothAccountings) {
  const analysis::RunFacts facts = staged_run({{"train", train_set()}}).facts;
  EXPECT_DOUBLE_EQ(facts.staging_percent().value(), 100.0 * 3.0 / 33.0);
  EXPECT_DOUBLE_EQ(facts.staging_on_top_percent().value(), 10.0);
  Log outside = own_log::clean();  // staged before run_start
  outside["run_start"]["time_ms"] = outside["staging_stop"]["time_ms"];
  const auto start = outside.find("run_start");
  const json run_start = *start;
  outside.records.erase(start);
  outside.insert_after("staging_stop", run_start);
  const analysis::RunFacts before = own_log::judged(outside).facts;
  EXPECT_EQ(before.parts.staging_in_run_s, 0.0);
  EXPECT_DOUBLE_EQ(before.staging_percent().value(), 100.0 * 3.0 / 33.0);
  EXPECT_DOUBLE_EQ(before.staging_on_top_percent().value(), 10.0);
  Log none = own_log::clean();
  none.erase("staging_start").erase("staging_stop");
  EXPECT_FALSE(own_log::judged(none).facts.staging_percent());
}

json cached_data() {
  return json::parse(R"({"nodes": 4, "known_nodes": 4, "files": 4000, "files_by_mincore": 900,
    "files_by_reading": 100, "bytes": 2000000, "bytes_looked_at": 1000000,
    "warm": {"min": 0.001, "mean": 0.01, "max": 0.034}, "warmest": "node7"})");
}

TEST(WarmData, IsReadFromTheLog) {
  const RunReport run = staged_run({{"page_cache", cached_data()}, {"train", train_set()}});
  EXPECT_THAT(run.findings, IsEmpty());
  EXPECT_EQ(run.facts.staged_sets.size(), 1U);
  const auto figure = [&](const char* name) {
    return analysis::to_text(find_field(analysis::run_fields(), name)->get(run.facts));
  };
  EXPECT_EQ(figure("warm_percent_min"), "0.1");
  EXPECT_EQ(figure("warm_percent_mean"), "1");
  EXPECT_EQ(figure("warm_percent_max"), "3.4");
  EXPECT_EQ(figure("warm_node"), "node7");
  EXPECT_EQ(figure("warm_looked_at_bytes"), "1000000");
  EXPECT_EQ(figure("warm_looked_at_percent"), "12.5") << "the half of a quarter of the files";
  EXPECT_EQ(figure("warm_looked_at_by"), "mincore and reads that do not wait");
  EXPECT_EQ(figure("warm_unknown"), "");
  EXPECT_EQ(warm_text(run.facts.warm_data),
            "0.1 to 3.4 % (most on node7), by 12.5 % of the bytes in 1000 of 4000 files; mincore "
            "and reads that do not wait");
}

TEST(WarmData, SaysThatItIsUnknown) {
  const RunReport run = staged_run(
      {{"page_cache",
        {{"nodes", 1}, {"known_nodes", 0}, {"files", 9}, {"unknown", "a file system"}}}});
  EXPECT_THAT(run.findings, IsEmpty());
  EXPECT_EQ(warm_text(run.facts.warm_data), "unknown: a file system");
  EXPECT_FALSE(run.facts.warm_data.share.max);
  EXPECT_EQ(warm_text(own_log::judged(own_log::clean()).facts.warm_data), "");
}

TEST(WarmData, LeavesOutWhatIsDamagedAndSaysSo) {
  for (const auto& [path, value] : {std::pair{"/warm/max", json(1.5)},
                                    {"/warm/max", json("all")},
                                    {"/nodes", json(-1)},
                                    {"/warmest", json(7)}}) {
    json damaged = cached_data();
    damaged[json::json_pointer(path)] = value;
    const RunReport run = staged_run({{"page_cache", damaged}});
    EXPECT_THAT(own_log::rules_of(run.findings), ElementsAre("staging-facts-damaged")) << path;
    EXPECT_EQ(run.facts.warm_data.looked_at_bytes, 1000000);
  }
}

class StagingReport : public testing::Test {
 protected:
  StagingReport() { report_ = report_with({}); }
  /// `more`: counters of each rank.
  analysis::Report report_with(const std::map<std::string, int>& more) const {
    folder_.write("result_0.txt", log_with({{"train", train_set()},
                                            {"validation", {{"mode", "stream"}}},
                                            {"page_cache", cached_data()}})
                                      .text());
    json telemetry = golden::late_telemetry();
    for (json& rank : telemetry["ranks"]) {
      json& counters = rank["counters"];
      counters["samples_from_copy"] = 500;
      counters["bytes_from_copy"] = 512 * 1024;
      counters["samples_from_source"] = 2;
      counters["bytes_from_source"] = 1024;
      counters["repaired_samples"] = 1;
      for (const auto& [name, count] : more) counters[name] = count;
    }
    folder_.write("result_0.telemetry.json", telemetry.dump());
    return analysis::make_report({folder_.path().string()});
  }
  std::string text(analysis::report::Detail detail) const {
    std::ostringstream out;
    analysis::report::TextPage page(out, 100, analysis::report::TextForm::kTerminal,
                                    analysis::report::Definitions::kShown);
    write_text(page, report_, detail);
    return out.str();
  }

  const base::TemporaryDirectory folder_;
  analysis::Report report_;
};

TEST_F(StagingReport, HasATableOfItsSetsAsText) {
  const std::string full = text(analysis::report::Detail::kFull);
  for (const char* part :
       {"\nStaging\n", "from the source", "over the network", "1.0 GiB", "512.0 MiB", "256.0 MiB",
        "0.5000 to 3", "41 MB/s, 310 MB/s, 400 MB/s", "1.25",
        "- train was copied while training; 4.0 KiB were not copied\n",
        "- slowest to copy train: node7 41 MB/s, node3 310 MB/s\n",
        "33.000 s; of which staging is 9.1 %", "30.000 s; to which staging would add 10.0 %",
        "1000 samples (1.0 MiB)", "4 samples (2.0 KiB)", "2 samples", "data in memory",
        "0.1 to 3.4 % (most on node7)"}) {
    EXPECT_THAT(full, HasSubstr(part));
  }
  const std::string screen = text(analysis::report::Detail::kScreen);
  EXPECT_THAT(screen,
              HasSubstr("train: 1.0 GiB on 4 nodes, 310 MB/s a node, slowest node7 41 MB/s\n"));
  EXPECT_THAT(screen, Not(HasSubstr("validation:")));
  EXPECT_THAT(screen, HasSubstr("0.1 to 3.4 % (most on node7)"));
  EXPECT_THAT(full, HasSubstr("(warm_percent_max): "));
  EXPECT_THAT(full, HasSubstr("(staged_sets.imbalance): largest / mean"));
}

TEST_F(StagingReport, HasItsSetsInJsonCsvAndHtml) {
  const json document = json::parse(analysis::report::report_json_text(report_));
  const json& sets = document["files"]["result_0.txt"]["staged_sets"];
  EXPECT_EQ(sets["train"]["source_bytes"], 536870912);
  EXPECT_EQ(sets["train"]["seconds_median"], 2.5);
  EXPECT_EQ(sets["train"]["slowest"][0]["host"], "node7");
  EXPECT_TRUE(sets["validation"]["bytes"].is_null());
  EXPECT_DOUBLE_EQ(document["files"]["result_0.txt"]["warm_percent_max"], 3.4);
  EXPECT_EQ(sets["validation"]["slowest"], json::array());
  for (const auto& [name, value] : sets["train"].items()) {
    EXPECT_TRUE(document["definitions"].contains("staged_sets." + name)) << name;
  }
  const std::string csv = analysis::report::staging_csv(report_);
  EXPECT_THAT(csv, HasSubstr("log,set,mode,nodes,reused_nodes,packs,samples,bytes,"));
  EXPECT_THAT(csv, HasSubstr(",slowest_host,slowest_bytes_per_second\r\n"
                             "result_0.txt,train,shard,4,1,60,1200,1073741824,1048576,"));
  EXPECT_THAT(csv, HasSubstr(",node7,41000000\r\nresult_0.txt,validation,stream,,"));
  const std::string html = analysis::report::report_html(report_);
  for (const char* part :
       {"<h2>Staging</h2>", "from the source", "over the network", "512.0 MiB",
        "node7 41 MB/s, node3 310 MB/s", ">9.1<", ">10.0<", ">1000<", ">3.4<", "most on node7"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(analysis::report::report_html(analysis::make_report({golden::folder("success")})),
              Not(HasSubstr("<h2>Staging</h2>")));
}

TEST_F(StagingReport, ShowsWhatCachesGave) {
  EXPECT_THAT(text(analysis::report::Detail::kFull), Not(HasSubstr("from other ranks")));
  EXPECT_THAT(analysis::report::report_html(report_), Not(HasSubstr("samples from memory")));
  report_ = report_with({{"samples_from_cache_memory", 100},
                         {"bytes_from_cache_memory", 1024},
                         {"samples_from_cache_disk", 200},
                         {"bytes_from_cache_disk", 2048},
                         {"samples_from_peers", 300},
                         {"bytes_from_peers", 4096}});
  const std::string full = text(analysis::report::Detail::kFull);
  for (const char* part :
       {"cached in memory    200 samples (2.0 KiB)", "cached on disk      400 samples (4.0 KiB)",
        "from other ranks    600 samples (8.0 KiB)",
        "(samples_from_peers): training samples that the cache of another rank gave"}) {
    EXPECT_THAT(full, HasSubstr(part));
  }
  const std::string html = analysis::report::report_html(report_);
  for (const char* part : {"samples from memory", "bytes from disk", "samples from other ranks",
                           ">200<", ">2.0 KiB<", ">400<", ">4.0 KiB<", ">600<", ">8.0 KiB<"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  const json document = json::parse(analysis::report::report_json_text(report_));
  const json& quantities = document["files"]["result_0.txt"]["telemetry"]["quantities"];
  EXPECT_EQ(quantities["samples_from_peers"]["sum"], 600);
  EXPECT_TRUE(document["definitions"].contains("quantities.bytes_from_cache_disk"));
}

TEST(StagedFields, HaveDefinitions) {
  for (const auto& field : analysis::staged_fields()) {
    EXPECT_EQ(analysis::definition_of("staged_sets." + field.name), field.definition);
    EXPECT_NE(field.definition, "");
  }
  EXPECT_EQ(analysis::definition_of("staged_sets.none"), "");
  EXPECT_NE(analysis::definition_of("bytes_from_copy"), "");
}

}  // namespace

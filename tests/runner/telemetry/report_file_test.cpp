// The telemetry file: written, read back, and refused if damaged.
#include "runner/telemetry/report_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace telemetry {
namespace {

using Json = nlohmann::json;
using base::kSecondNs;
using ::testing::HasSubstr;

std::string entry_of(int rank, int forward_s) {
  base::FakeClock clock;
  Telemetry telemetry(clock);
  telemetry.add(Counter::kTrainSamples, 10 * (rank + 1));
  telemetry.begin_step();
  {
    const Scope forward(telemetry, Subsystem::kForward);
    clock.nanoseconds += forward_s * kSecondNs;
  }
  telemetry.end_step();
  {
    const Scope evaluation(telemetry, Subsystem::kEvaluation);
    const Scope input(telemetry, Subsystem::kInput);
    clock.nanoseconds += kSecondNs;
  }
  clock.nanoseconds += kSecondNs;
  return rank_entry({rank, "node" + std::to_string(rank / 2), rank / 2, 2}, telemetry);
}

std::string written(const base::TemporaryDirectory& directory) {
  const std::string path = (directory.path() / "result_0.telemetry.json").string();
  write_report(path, "resnet50", {entry_of(0, 3), entry_of(1, 5), entry_of(2, 7)},
               {{"conv1", "stem"}, {"fc", "dense"}}, {{"build", {{"revision", "unknown"}}}});
  return path;
}

Json valid() {
  const base::TemporaryDirectory directory;
  return Json::parse(std::ifstream(written(directory)));
}

std::string refusal(const Json& report) {
  return base::thrown_message<base::DataError>([&] { parse_report(report.dump(), "t.json"); });
}

TEST(ReportFile, NeedsNoLayersButWholeOnes) {
  Json report = valid();
  report.erase("layers");
  EXPECT_TRUE(parse_report(report.dump(), "t.json").layers.empty());
  report["layers"] = {{{"layer", "conv1"}}};
  EXPECT_THAT(refusal(report), HasSubstr("t.json: /layers/0"));
}

TEST(ReportFile, ReadsBackWhatWasWritten) {
  const base::TemporaryDirectory directory;
  const Report report = read_report(written(directory));
  EXPECT_EQ(report.workload, "resnet50");
  ASSERT_EQ(report.layers.size(), 2u);
  EXPECT_EQ(report.layers[1].layer, "fc");
  EXPECT_EQ(report.layers[1].method, "dense");
  ASSERT_EQ(report.ranks.size(), 3u);
  const RankReport& last = report.ranks[2];
  EXPECT_EQ(last.identity.rank, 2);
  EXPECT_EQ(last.identity.host, "node1");
  EXPECT_EQ(last.identity.node, 1);
  EXPECT_EQ(last.identity.threads, 2);
  EXPECT_EQ(last.wall_s, 9.0);
  EXPECT_EQ(last.subsystems_s[static_cast<std::size_t>(Subsystem::kForward)], 7.0);
  const auto evaluation = static_cast<std::size_t>(Subsystem::kEvaluation);
  EXPECT_EQ(last.subsystems_s[evaluation], 1.0);
  EXPECT_TRUE(report.has_within);
  EXPECT_EQ(last.within_s[evaluation][static_cast<std::size_t>(Subsystem::kInput)], 1.0);
  EXPECT_EQ(last.counters[static_cast<std::size_t>(Counter::kTrainSamples)], 30);
  EXPECT_EQ(last.step_s.count, 1);
  EXPECT_EQ(last.step_s.p50, 7.0);
  EXPECT_GT(last.peak_rss_bytes, 0);
  EXPECT_EQ(last.scopes, 3);
  EXPECT_EQ(Json::parse(report.provenance)["build"]["revision"], "unknown");
}

TEST(ReportFile, SpreadsFiguresOverTheRanks) {
  const base::TemporaryDirectory directory;
  const Report report = read_report(written(directory));
  const Spread forward = report.seconds(Subsystem::kForward);
  EXPECT_EQ(forward.min, 3.0);
  EXPECT_EQ(forward.mean, 5.0);
  EXPECT_EQ(forward.max, 7.0);
  EXPECT_EQ(forward.min_rank, 0);
  EXPECT_EQ(forward.max_rank, 2);
  EXPECT_EQ(report.wall_s().max, 9.0);
  EXPECT_EQ(report.total(Counter::kTrainSamples), 60);
}

TEST(ReportFile, AddsUpAnyCounts) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Json report = valid();
  for (Json& rank : report["ranks"]) rank["counters"]["train_samples"] = kMost;
  EXPECT_EQ(parse_report(report.dump(), "t.json").total(Counter::kTrainSamples), kMost);
}

TEST(ReportFile, MayLackTheCountersOfLaterVersions) {
  Json report = valid();
  EXPECT_TRUE(parse_report(report.dump(), "t.json").has_levels);
  Json& counters = report["ranks"][1]["counters"];
  counters["samples_from_copy"] = 7;
  const auto copied = static_cast<std::size_t>(Counter::kSamplesFromCopy);
  EXPECT_EQ(parse_report(report.dump(), "t.json").ranks[1].counters[copied], 7);
  counters["repaired_samples"] = -1;
  EXPECT_THAT(refusal(report), HasSubstr("/ranks/1/counters/repaired_samples: must be an integer"));
  for (const char* later : {"repaired_samples", "samples_from_source", "samples_from_copy",
                            "bytes_from_source", "bytes_from_copy", "flawed_samples"}) {
    counters.erase(later);
    EXPECT_FALSE(parse_report(report.dump(), "t.json").has_levels) << later;
  }
  EXPECT_EQ(parse_report(report.dump(), "t.json").ranks[1].counters[copied], 0);
  counters.erase("skipped_samples");
  EXPECT_THAT(refusal(report), HasSubstr("/ranks/1/counters/skipped_samples: is missing"));
}

TEST(ReportFile, MayLackTheCountersOfCaches) {
  Json report = valid();
  EXPECT_TRUE(parse_report(report.dump(), "t.json").has_cache);
  for (const char* later :
       {"samples_from_peers", "samples_from_cache_disk", "samples_from_cache_memory",
        "bytes_from_peers", "bytes_from_cache_disk", "bytes_from_cache_memory"}) {
    report["ranks"][1]["counters"].erase(later);
    EXPECT_FALSE(parse_report(report.dump(), "t.json").has_cache) << later;
    EXPECT_TRUE(parse_report(report.dump(), "t.json").has_levels) << later;
  }
}

TEST(ReportFile, MayLackTheCountersOfGradients) {
  Json report = valid();
  EXPECT_TRUE(parse_report(report.dump(), "t.json").has_gradients);
  report["ranks"][1]["counters"].erase("gradient_messages_sent");
  EXPECT_FALSE(parse_report(report.dump(), "t.json").has_gradients);
  EXPECT_TRUE(parse_report(report.dump(), "t.json").has_cache);
}

TEST(ReportFile, CarriesADefinitionForEveryFigure) {
  const Json report = valid();
  const Json& rank = report["ranks"][0];
  for (const char* group : {"subsystems_s", "counters"}) {
    for (const auto& [name, value] : rank[group].items()) {
      EXPECT_TRUE(report["definitions"][group].contains(name)) << name;
    }
  }
  for (const char* name :
       {"wall_s", "within_s", "step_s", "peak_rss_bytes", "scopes", "scope_cost_s"}) {
    EXPECT_TRUE(report["definitions"].contains(name)) << name;
  }
}

TEST(ReportFile, SaysWhenTheFileDoesNotTellWhatInnerScopesTook) {
  Json report = valid();
  report["ranks"][1].erase("within_s");
  EXPECT_FALSE(parse_report(report.dump(), "t.json").has_within);
}

TEST(ReportFile, LeavesNoPartialFileBehind) {
  const base::TemporaryDirectory directory;
  written(directory);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_EQ(names, std::vector<std::string>{"result_0.telemetry.json"});
}

TEST(ReportFile, NamesThePathThatCannotBeWritten) {
  EXPECT_THAT(base::thrown_message<base::SystemError>([] {
                write_report("/nowhere/t.json", "w", {entry_of(0, 1)}, {}, Json::object());
              }),
              HasSubstr("/nowhere/t.json: cannot be opened for writing: No such file"));
  const base::TemporaryDirectory directory;
  const std::string folder = directory.path().string();
  EXPECT_THAT(base::thrown_message<base::SystemError>(
                  [&] { write_report(folder, "w", {entry_of(0, 1)}, {}, Json::object()); }),
              HasSubstr(folder + ": cannot be opened for writing"));
  EXPECT_FALSE(std::filesystem::exists(folder + ".partial"));
}

TEST(ReportFile, RefusesEntriesThatAreNone) {
  const base::TemporaryDirectory directory;
  const std::string path = (directory.path() / "t.json").string();
  EXPECT_THROW(write_report(path, "w", {"broken"}, {}, Json::object()), base::Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ReportFile, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(base::thrown_message<base::DataError>([] { read_report("/nowhere/t.json"); }),
            "/nowhere/t.json: cannot open: No such file or directory");
  EXPECT_EQ(base::thrown_message<base::DataError>([] { read_report("/"); }),
            "/: expected a regular file, found a folder");
  EXPECT_EQ(base::thrown_message<base::DataError>([] { read_report("/dev/zero"); }),
            "/dev/zero: expected a regular file, found a device");
}

TEST(ReportFile, RefusesWhatIsNoReport) {
  EXPECT_THAT(base::thrown_message<base::DataError>([] { parse_report("{\n!", "t.json"); }),
              HasSubstr("t.json: line 2, column 1: not valid JSON"));
  EXPECT_EQ(refusal(Json::array()), "t.json: must be an object, got []");
  EXPECT_EQ(refusal(Json::object()), "t.json: /schema: is missing");
}

struct Damage {
  const char* what;
  const char* where;
  Json value;  ///< discarded: the member is removed
  const char* message;
  friend void PrintTo(const Damage& damage, std::ostream* out) {
    *out << damage.what << ' ' << damage.where;
  }
};

class DamagedReport : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedReport, IsRefusedWithItsPlace) {
  Json report = valid();
  const Json::json_pointer place(GetParam().where);
  if (GetParam().value.is_discarded()) {
    report[place.parent_pointer()].erase(place.back());
  } else {
    report[place] = GetParam().value;
  }
  EXPECT_THAT(refusal(report), HasSubstr(GetParam().message));
}

const Json kRemoved = Json(Json::value_t::discarded);

INSTANTIATE_TEST_SUITE_P(
    Members, DamagedReport,
    ::testing::Values(
        Damage{"Schema", "/schema", 2, "t.json: /schema: must be 1 (another version"},
        Damage{"Workload", "/workload", 5, "t.json: /workload: must be a string, got 5"},
        Damage{"Provenance", "/provenance", "x", "/provenance: must be an object, got \"x\""},
        Damage{"Ranks", "/ranks", Json::object(), "/ranks: must be an array, got {}"},
        Damage{"NoRanks", "/ranks", Json::array(), "/ranks: must hold at least one rank"},
        Damage{"RankOrder", "/ranks/1/rank", 2, "/ranks/1/rank: must be 1, its place"},
        Damage{"NegativeRank", "/ranks/1/rank", -1, "/ranks/1/rank: must be an integer from 0"},
        Damage{"FractionalNode", "/ranks/0/node", 0.5, "/ranks/0/node: must be an integer"},
        Damage{"NoThreads", "/ranks/0/threads", 0, "/ranks/0/threads: must be an integer from 1"},
        Damage{"Host", "/ranks/0/host", kRemoved, "/ranks/0/host: is missing"},
        Damage{"Wall", "/ranks/2/wall_s", -1, "/ranks/2/wall_s: must be a finite number"},
        Damage{"NullWall", "/ranks/2/wall_s", nullptr, "/ranks/2/wall_s: must be a finite number"},
        Damage{"Sum", "/ranks/2/wall_s", 9.2, "/ranks/2/subsystems_s: must sum to wall_s 9.2"},
        Damage{"Within", "/ranks/0/within_s/evaluation/input", 1.5,
               "/ranks/0/within_s/evaluation: must sum to at most the 1 s of evaluation"},
        Damage{"WithinKind", "/ranks/0/within_s/evaluation/input", "x",
               "/within_s/evaluation/input: must be a finite number"},
        Damage{"Subsystem", "/ranks/0/subsystems_s/input", kRemoved,
               "/ranks/0/subsystems_s/input: is missing"},
        Damage{"Counter", "/ranks/0/counters/steps", 1.5, "/counters/steps: must be an integer"},
        Damage{"HugeCounter", "/ranks/0/counters/steps", 18446744073709551615u,
               "/counters/steps: must be an integer"},
        Damage{"Steps", "/ranks/0/step_s/p99", kRemoved, "/ranks/0/step_s/p99: is missing"},
        Damage{"StepsKind", "/ranks/0/step_s", 3, "/ranks/0/step_s: must be an object, got 3"},
        Damage{"Memory", "/ranks/0/peak_rss_bytes", "1", "peak_rss_bytes: must be an integer"},
        Damage{"Scopes", "/ranks/0/scopes", -1, "/ranks/0/scopes: must be an integer"},
        Damage{"Cost", "/ranks/0/scope_cost_s", "x", "/scope_cost_s: must be a finite number"}),
    [](const auto& damage) { return damage.param.what; });

}  // namespace
}  // namespace telemetry

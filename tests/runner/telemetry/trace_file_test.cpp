// The trace file of two ranks, read back.
#include "runner/telemetry/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace telemetry {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A step with a forward scope and a layer in it; three transfers, two of which overlap.
Trace made_trace(std::int64_t began) {
  Trace trace({1, 1}, 100);
  trace.begin_step(1, began);
  trace.enter("forward", false, began + 1'000);
  const TracedTransfer a = trace.begin_transfer("ids", 10, began + 1'500);
  const TracedTransfer b = trace.begin_transfer("ids", 20, began + 1'600);
  trace.enter_layer("conv\"1\"", "bf16x3, jit:avx512", began + 2'000);
  trace.end_transfer(a, began + 2'500);
  trace.leave(began + 3'001);
  trace.end_transfer(b, began + 3'500);
  trace.end_transfer(trace.begin_transfer("ids", 30, began + 3'600), began + 3'700);
  trace.leave(began + 4'000);
  trace.end_step(began + 10'000);
  return trace;
}

class TraceFileOfTwo : public testing::Test {
 protected:
  void write() {
    TraceFile file(path_);
    std::vector<Json> entries;
    for (const RankTrace& rank : {near_, far_}) {
      trace_texts(rank, 5'000'000, [&](const std::string& text) { file.add(text); });
      entries.push_back(trace_entry(rank));
    }
    file.finish("dlrm", {1, 1}, entries);
    file_ = Json::parse(base::content(path_));
  }
  std::vector<Json> events(int rank, const std::string& phase) const {
    std::vector<Json> found;
    for (const Json& event : file_.at("traceEvents")) {
      if (event.at("pid") == rank && event.at("ph") == phase) found.push_back(event);
    }
    return found;
  }
  const base::TemporaryDirectory folder_;
  const std::string path_ = (folder_.path() / "result_1.trace.json").string();
  const Trace near_trace_ = made_trace(5'000'000), far_trace_ = made_trace(1'000);
  /// The far clock is 5 ms behind.
  const RankTrace near_{{0, "near", 0, 1}, near_trace_, {}};
  const RankTrace far_{
      {1, "far", 1, 1}, far_trace_, {{0, 5'000'000, 40}, {10'000'000, 5'000'000, 60}}};
  Json file_;
};

TEST_F(TraceFileOfTwo, HasAProcessForEachRankAndALineForEachThread) {
  write();
  for (const int rank : {0, 1}) {
    std::vector<std::string> names;
    for (const Json& event : events(rank, "M")) {
      if (event["name"] != "process_sort_index") names.push_back(event["args"]["name"]);
    }
    EXPECT_THAT(names, ElementsAre(rank == 0 ? "rank 0 on near" : "rank 1 on far", "training",
                                   "transfer: ids", "transfer: ids (2)"));
  }
}

TEST_F(TraceFileOfTwo, HasEventsInMicrosecondsOfRankZerosClock) {
  write();
  std::vector<std::string> found;
  for (const Json& event : events(1, "X")) {
    found.push_back(event["name"].get<std::string>() + " " + event["cat"].get<std::string>() + " " +
                    event["ts"].dump() + " " + event["dur"].dump() + " " + event["tid"].dump() +
                    " " + event.value("args", Json()).dump());
  }
  EXPECT_THAT(
      found,
      ElementsAre("step step 1.0 10.0 0 {\"step\":1}", "forward scope 2.0 3.0 0 null",
                  "ids transfer 2.5 1.0 1 {\"bytes\":10}", "ids transfer 2.6 1.9 2 {\"bytes\":20}",
                  R"(conv"1" layer 3.0 1.001 0 {"method":"bf16x3, jit:avx512"})",
                  "ids transfer 4.6 0.1 1 {\"bytes\":30}"));
  EXPECT_EQ(events(0, "X").size(), found.size());
}

TEST_F(TraceFileOfTwo, SaysWhatClocksAndTransfersAre) {
  write();
  const Json& other = file_.at("otherData");
  EXPECT_EQ(other["workload"], "dlrm");
  EXPECT_EQ(other["first_step"], 1);
  const Json& far = other["ranks"][1];
  EXPECT_EQ(far["host"], "far");
  EXPECT_DOUBLE_EQ(far["clock"]["start"]["offset_s"], 5e-3);
  EXPECT_DOUBLE_EQ(far["clock"]["uncertainty_s"], 60e-9);
  EXPECT_EQ(far["events"], 6);
  EXPECT_EQ(far["dropped"], 0);
  EXPECT_EQ(far["transfers"].size(), 1U);
  const Json& ids = far["transfers"][0];
  EXPECT_EQ(ids["count"], 3);
  EXPECT_EQ(ids["bytes"], 60);
  EXPECT_DOUBLE_EQ(ids["in_flight_s"], 2.1e-6);
  EXPECT_DOUBLE_EQ(ids["exposed_s"], 0.0);
  EXPECT_DOUBLE_EQ(ids["hidden_s"], 2.1e-6);
  for (const auto& [key, value] : far.items()) {
    if (key == "rank" || key == "host" || key == "node") continue;
    EXPECT_TRUE(other["definitions"].contains(key)) << key;
  }
  for (const auto& [key, value] : ids.items()) {
    EXPECT_TRUE(key == "name" || other["definitions"].contains(key)) << key;
  }
}

TEST_F(TraceFileOfTwo, TellsWhatTransfersTakeAlone) {
  EXPECT_EQ(trace_entry(near_)["transfers"][0]["isolated_s"], nullptr) << "not measured";
  Trace alone({1, 1}, 0);
  for (const std::int64_t took : {200, 600}) {
    alone.begin_step(1, 0);
    const TracedTransfer first = alone.begin_transfer("ids", 10, 100);
    const TracedTransfer second = alone.begin_transfer("ids", 10, 150);
    alone.end_transfer(first, 100 + took / 2);
    alone.end_transfer(second, 100 + took);
    alone.end_step(10'000);
  }
  RankTrace rank{{0, "near", 0, 1}, near_trace_, {}};
  rank.alone = &alone;
  EXPECT_EQ(near_trace_.traced_steps(), 1);
  EXPECT_DOUBLE_EQ(trace_entry(rank)["transfers"][0]["isolated_s"], 400e-9) << "of a step";
}

TEST_F(TraceFileOfTwo, IsThereWholeOrNotAtAll) {
  {
    TraceFile file(path_);
    trace_texts(near_, 0, [&](const std::string& text) { file.add(text); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THROW(TraceFile((folder_.path() / "absent/x.json").string()), base::SystemError);
}

TEST_F(TraceFileOfTwo, CutsManyEventsIntoTexts) {
  Trace trace({1, 1}, 5000);
  trace.begin_step(1, 0);
  for (int i = 0; i < 4000; ++i) {
    trace.enter("forward", false, 2 * i);
    trace.leave(2 * i + 1);
  }
  trace.end_step(9000);
  int texts = 0;
  std::size_t events = 0;
  trace_texts({{0, "near", 0, 1}, trace, {}}, 0, [&](const std::string& text) {
    ++texts;
    EXPECT_LT(text.size(), 101U * 1024);
    events += Json::parse("[" + text + "]").size();
  });
  EXPECT_GT(texts, 2);
  EXPECT_EQ(events, 3U + 4001);
}

TEST(TransfersText, GivesMeansOverRanksAndSteps) {
  const auto entry = [](double exposed_s) {
    const Json ids = {{"name", "ids"},
                      {"bytes", 3'000'000},
                      {"in_flight_s", 0.012},
                      {"exposed_s", exposed_s},
                      {"hidden_s", 0.012 - exposed_s}};
    Json all = ids;
    all["name"] = "all";
    return Json{{"steps", 2}, {"transfers", Json::array({ids})}, {"all_transfers", all}};
  };
  const std::string text = transfers_text({entry(0.002), entry(0.010)});
  EXPECT_THAT(text, HasSubstr("  ids                              6.000         3.000         3.000"
                              "       1.500\n  all"));
  EXPECT_THAT(transfers_text({Json{{"steps", 0}, {"transfers", Json::array()}}}), IsEmpty());
}

}  // namespace
}  // namespace telemetry

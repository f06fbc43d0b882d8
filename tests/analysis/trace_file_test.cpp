// Traces of runs: layers, spans, damage.
#include "analysis/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "analysis/golden.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::read_trace_of;
using analysis::RunTrace;
using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Two ranks of two steps each; layers within "args" or after the events do not count.
constexpr char kTrace[] = R"({"traceEvents":[
{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"conv1","cat":"layer","dur":9}},
{"name":"step","cat":"step","ph":"X","ts":0.0,"dur":10.0,"pid":0,"tid":0,"args":{"step":1}},
{"name":"conv1","cat":"layer","ph":"X","ts":1.0,"dur":4.5,"pid":0,"tid":0},
{"name":"conv1","cat":"layer","ph":"X","ts":6,"dur":1,"pid":0,"tid":0},
{"name":"forward","cat":"scope","ph":"X","ts":1.0,"dur":4.5,"pid":0,"tid":0},
{"name":"step","cat":"step","ph":"X","ts":10.0,"dur":10.0,"pid":0,"tid":0,"args":{"step":2}},
{"name":"step","cat":"step","ph":"X","ts":0.0,"dur":10.0,"pid":1,"tid":0,"args":{"step":1}},
{"name":"fc","cat":"layer","ph":"X","ts":1.0,"dur":2.5,"pid":1,"tid":0},
{"name":"step","cat":"step","ph":"X","ts":10.0,"dur":10.0,"pid":1,"tid":0,"args":{"step":2}}],
"displayTimeUnit":"ms","otherData":{"ranks":[{"name":"fc","cat":"layer","dur":7}]}})";

TEST(TraceLayers, AreMeansOverStepsAndRanks) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", kTrace);
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_THAT(trace.layers,
              ElementsAre(Pair("conv1", DoubleEq(5.5e-6 / 4)), Pair("fc", DoubleEq(2.5e-6 / 4))));
  EXPECT_FALSE(read_trace_of(folder.path() / "result_2.txt", findings));
  EXPECT_TRUE(findings.empty());
}

TEST(TraceSpans, AreTheScopesOfEachRank) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", kTrace);
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  ASSERT_EQ(trace.spans.size(), 1u);
  EXPECT_EQ(trace.spans[0].name, "forward");
  EXPECT_EQ(trace.spans[0].rank, 0);
  EXPECT_DOUBLE_EQ(trace.spans[0].begin_s, 1e-6);
  EXPECT_DOUBLE_EQ(trace.spans[0].end_s, 5.5e-6);
}

TEST(TraceSteps, AreMeansOverStepsAndRanks) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", golden::trace_text());
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_DOUBLE_EQ(trace.step.seconds, (0.5 + 0.7) / 2);
  EXPECT_DOUBLE_EQ(trace.step.exchange_s, (0.2 + 0.4) / 2);
  EXPECT_DOUBLE_EQ(trace.step.compute_s(), 0.3);
  ASSERT_EQ(trace.step.transfers.size(), 4U);
  const analysis::TracedTransfers& gradients = trace.step.transfers[0];
  EXPECT_EQ(gradients.name, "gradients");
  EXPECT_DOUBLE_EQ(gradients.count, (2.0 + 1.0) / 2);
  EXPECT_DOUBLE_EQ(gradients.bytes, (150.0 + 150.0) / 2);
  EXPECT_DOUBLE_EQ(gradients.in_flight_s, (0.25 + 0.2) / 2);
  EXPECT_DOUBLE_EQ(gradients.exposed_s, (0.05 + 0.1) / 2);
  EXPECT_DOUBLE_EQ(gradients.hidden_s(), 0.15);
  EXPECT_DOUBLE_EQ(gradients.isolated_s, (0.15 + 0.2) / 2);
  EXPECT_EQ(trace.step.transfers[1].name, "ids");
  EXPECT_DOUBLE_EQ(trace.step.transfers[1].count, 0.5) << "none of the second rank";
  EXPECT_TRUE(std::isnan(trace.step.transfers[1].isolated_s)) << "not measured";
  EXPECT_EQ(trace.step.transfers[2].name, "late");
  EXPECT_DOUBLE_EQ(trace.step.transfers[3].in_flight_s, (0.3 + 0.3) / 2);
}

TEST(TraceSteps, OfTracesWithoutThemAreNotKnown) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", kTrace);
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_EQ(trace.step.seconds, 0.0);
  EXPECT_TRUE(trace.step.transfers.empty());
}

/// The one finding of a trace with this text, which must not be taken for one.
std::string refusal(const std::string& text) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", text);
  std::vector<analysis::Finding> findings;
  EXPECT_FALSE(read_trace_of(folder.path() / "result_1.txt", findings));
  return findings.size() == 1 ? findings[0].text : "";
}

TEST(Trace, IsRefusedWhereATimeIsText) {
  std::string text = kTrace;
  text.replace(text.find("4.5"), 3, "\"five\"");
  EXPECT_THAT(refusal(text), AllOf(HasSubstr("/traceEvents/2: expected ts from -1e+18"),
                                   HasSubstr("found 1 and nan")));
}

TEST(TraceSteps, OfTimesThatCannotBeAreRefused) {
  for (const char* const wrong : {"-0.5", "1e300"}) {
    std::string text = golden::trace_text();
    text.replace(text.find("0.5"), 3, wrong);
    EXPECT_THAT(refusal(text), HasSubstr("/otherData/ranks: in_flight_s: expected 0 to 1e+18"));
  }
}

TEST(Trace, OfAnotherProgramIsNamed) {
  EXPECT_THAT(refusal(R"({"events": 3})"),
              HasSubstr("expected the trace of a run, found no traceEvents"));
}

TEST(TraceSpans, AreCountedBeyondTheMost) {
  std::string events;
  for (std::int64_t i = 0; i < RunTrace::kMostSpans + 7; ++i) {
    events += std::string(i == 0 ? "" : ",") +
              R"({"name":"input","cat":"scope","ph":"X","ts":-3.0,"dur":2.0,"pid":1,"tid":0})";
  }
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", R"({"traceEvents":[)" + events + "]}");
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_EQ(trace.spans.size(), static_cast<std::size_t>(RunTrace::kMostSpans));
  EXPECT_EQ(trace.spans_left_out, 7);
  EXPECT_DOUBLE_EQ(trace.spans[0].begin_s, 0.0);
  EXPECT_DOUBLE_EQ(trace.spans[0].end_s, 2e-6);
}

TEST(TraceSpans, OfRanksThatCannotBeAreLeftOut) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", R"({"traceEvents":[
    {"name":"input","cat":"scope","ts":0,"dur":2,"pid":-1},
    {"name":"input","cat":"scope","ts":0,"dur":2,"pid":1e300},
    {"name":"input","cat":"scope","ts":0,"dur":2,"pid":64}]})");
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_TRUE(trace.spans.empty());
  EXPECT_EQ(trace.spans_left_out, 3);
}

TEST(Trace, OfNoEventsIsEmpty) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", R"({"traceEvents":[]})");
  std::vector<analysis::Finding> findings;
  const RunTrace trace = read_trace_of(folder.path() / "result_1.txt", findings).value();
  EXPECT_TRUE(trace.layers.empty());
  EXPECT_TRUE(trace.spans.empty());
}

TEST(Trace, OfTimesThatCannotBeIsAFinding) {
  const base::TemporaryDirectory folder;
  for (const char* const times :
       {R"("ts":0,"dur":-2)", R"("ts":1.7e308,"dur":1.7e308)", R"("ts":-1e300,"dur":2)"}) {
    for (const char* const category : {"scope", "layer"}) {
      folder.write("result_1.trace.json",
                   std::string(R"({"traceEvents":[{"name":"a"},{"name":"input","cat":")") +
                       category + "\"," + times + "}]}");
      std::vector<analysis::Finding> findings;
      EXPECT_FALSE(read_trace_of(folder.path() / "result_1.txt", findings));
      ASSERT_EQ(findings.size(), 1u) << times;
      EXPECT_THAT(findings[0].text,
                  HasSubstr("result_1.trace.json: /traceEvents/1: expected ts from -1e+18"));
    }
  }
}

TEST(Trace, ThatIsNoFileIsAFinding) {
  const base::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder.path() / "result_1.trace.json").c_str(), 0600), 0);
  std::vector<analysis::Finding> findings;
  EXPECT_FALSE(read_trace_of(folder.path() / "result_1.txt", findings));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].text,
              HasSubstr("result_1.trace.json: expected a regular file, found a pipe"));
}

TEST(Trace, ThatIsDamagedIsAFinding) {
  const base::TemporaryDirectory folder;
  const std::string whole = kTrace;
  for (const std::size_t bytes : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
    folder.write("result_1.trace.json", whole.substr(0, bytes));
    std::vector<analysis::Finding> findings;
    EXPECT_FALSE(read_trace_of(folder.path() / "result_1.txt", findings));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_THAT(findings[0].text,
                AllOf(HasSubstr("result_1.trace.json: byte "), HasSubstr("found no JSON")));
  }
}

}  // namespace

// Layers of traces.
// Hides nothing.
#include "analysis/comparison/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using namespace analysis::comparison;
using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Two ranks of two steps each; a layer's name within "args" or behind the events is none.
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
  EXPECT_THAT(read_layers_beside(folder.path() / "result_1.txt").value(),
              ElementsAre(Pair("conv1", DoubleEq(5.5e-6 / 4)), Pair("fc", DoubleEq(2.5e-6 / 4))));
  EXPECT_FALSE(read_layers_beside(folder.path() / "result_2.txt"));
}

TEST(TraceLayers, OfATraceWithoutAnyAreNone) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.trace.json", R"({"traceEvents":[]})");
  EXPECT_FALSE(read_layers_beside(folder.path() / "result_1.txt"));
}

TEST(TraceLayers, OfADamagedTraceAreRefused) {
  const base::TemporaryDirectory folder;
  const std::string whole = kTrace;
  for (const std::size_t bytes : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
    folder.write("result_1.trace.json", whole.substr(0, bytes));
    EXPECT_THAT(base::thrown_message<base::DataError>(
                    [&] { read_layers_beside(folder.path() / "result_1.txt"); }),
                AllOf(HasSubstr("result_1.trace.json: byte "), HasSubstr("found no JSON")));
  }
}

TEST(LayerDifferences, StandWithTheLargestFirst) {
  const auto differences =
      layer_differences({{"a", 1.0}, {"b", 2.0}, {"gone", 0.5}}, {{"a", 1.25}, {"b", 1.0}});
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].name, "b");
  EXPECT_EQ(differences[0].difference_s(), -1.0);
  EXPECT_EQ(differences[1].name, "gone");
  EXPECT_FALSE(differences[1].second_s);
  EXPECT_EQ(differences[2].difference_s(), 0.25);
}

}  // namespace

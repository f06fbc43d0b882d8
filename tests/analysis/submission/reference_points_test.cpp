// The embedded reference points, and the faults that are refused in files of points.
#include "analysis/submission/reference_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using namespace analysis::submission;
using testing::HasSubstr;

const std::string kValid = R"({
  "benchmark": "oc20",
  "source": {"repository": "r", "commit": "c", "path": "p", "license": "l"},
  "points": [{"batch_size": 64, "rounds": ["1.0", "2.0"], "converged_after": [3, 1, 2]},
             {"batch_size": 32, "rounds": ["2.0"], "converged_after": [1, 1, 1.5]}]
})";

/// kValid with one text replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kValid;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string refusal(const std::string& text) {
  return base::thrown_message<base::ConfigError>([&] { parse_reference_file(text, "oc20.json"); });
}

struct Rounds {
  const char* round;
  std::vector<const char*> benchmarks;
};

/// The rounds and benchmarks that mlcommons/logging has points for; minigo has none in any round.
const std::vector<Rounds> kRounds = {
    {"hpc 1.0", {"cosmoflow", "deepcam", "oc20"}},
    {"hpc 2.0", {"cosmoflow", "deepcam", "oc20"}},
    {"hpc 3.0", {"cosmoflow", "deepcam", "oc20", "openfold"}},
    {"training 1.0", {"bert", "dlrm", "maskrcnn", "resnet", "rnnt", "ssd", "unet3d"}},
    {"training 1.1", {"bert", "dlrm", "maskrcnn", "resnet", "rnnt", "ssd", "unet3d"}},
    {"training 2.0", {"bert", "dlrm", "maskrcnn", "resnet", "rnnt", "ssd", "unet3d"}},
    {"training 2.1", {"bert", "dlrm", "maskrcnn", "resnet", "rnnt", "ssd", "unet3d"}},
    {"training 3.0", {"bert", "dlrm_dcnv2", "gpt3", "maskrcnn", "resnet", "rnnt", "ssd", "unet3d"}},
    {"training 3.1",
     {"bert", "dlrm_dcnv2", "gpt3", "maskrcnn", "resnet", "rnnt", "ssd", "stable_diffusion",
      "unet3d"}},
    {"training 4.0",
     {"bert", "dlrm_dcnv2", "gnn", "gpt3", "llama2_70b_lora", "resnet", "ssd", "stable_diffusion",
      "unet3d"}},
    {"training 4.1",
     {"bert", "dlrm_dcnv2", "gnn", "gpt3", "llama2_70b_lora", "ssd", "stable_diffusion"}},
    {"training 5.0",
     {"bert", "dlrm_dcnv2", "llama2_70b_lora", "llama31_405b", "retinanet", "rgat",
      "stable_diffusion"}},
    {"training 5.1",
     {"bert", "dlrm_dcnv2", "flux1", "llama2_70b_lora", "llama31_405b", "llama31_8b", "retinanet",
      "rgat"}},
    {"training 6.0",
     {"deepseekv3_671b", "dlrm_dcnv2", "flux1", "gpt_oss_20b", "llama2_70b_lora", "llama31_405b",
      "llama31_8b"}},
    {"training 6.1",
     {"deepseekv3_671b", "dlrmv4", "flux1", "gpt_oss_20b", "llama2_70b_lora", "llama31_8b",
      "qwen35_397b_grpo"}}};

TEST(ReferencePoints, AreThereForEveryRoundThatHasThem) {
  std::set<std::string> found;
  for (const ReferenceSet& set : all_reference_points()) {
    found.insert(set.usage + ' ' + set.round + ' ' + set.benchmark);
  }
  std::set<std::string> expected;
  for (const Rounds& row : kRounds) {
    for (const char* const name : row.benchmarks) {
      expected.insert(std::string(row.round) + ' ' + name);
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(ReferencePoints, HaveTwiceTheRunsOfASubmission) {
  for (const ReferenceSet& set : all_reference_points()) {
    EXPECT_TRUE(reference_points(set.usage, set.round, set.benchmark)) << "a file of its name";
    // The points of dlrmv4 are from a newer commit.
    EXPECT_THAT(set.source,
                HasSubstr(set.benchmark == "dlrmv4" ? "3b97046f21a7754058c19f282bb8723fa07d4d03"
                                                    : "7bbf792686936919201796120b970dd820331099"));
    // Some points of stable_diffusion have fewer runs than the rules require.
    const std::size_t fewest = set.benchmark == "stable_diffusion"
                                   ? 13u
                                   : 2u * static_cast<std::size_t>(set.runs_required);
    for (const ReferencePoint& point : set.points) {
      EXPECT_GE(point.converged_after.size(), fewest)
          << set.benchmark << ' ' << set.round << ' ' << point.batch_size;
    }
  }
}

TEST(ReferencePoints, AreFoundByLongAndShortNamesOfARound) {
  for (const char* const round : {"3.0", "v3.0", "3.0.0"}) {
    EXPECT_TRUE(reference_points("hpc", round, "openfold")) << round;
  }
  EXPECT_FALSE(reference_points("hpc", "2.0", "openfold"));
  EXPECT_FALSE(reference_points("training", "3.0", "openfold"));
}

TEST(ReferencePoints, AreSortedWithinTheirRounds) {
  const std::vector<ReferenceSet> sets = parse_reference_file(kValid, "oc20.json");
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].round, "1.0");
  ASSERT_EQ(sets[1].points.size(), 2u);
  EXPECT_EQ(sets[1].points[0].batch_size, 32);
  EXPECT_THAT(sets[1].points[1].converged_after, testing::ElementsAre(1, 2, 3));
}

TEST(ReferencePoints, OfUnet3dCountSamplesFromRound31On) {
  EXPECT_EQ(reference_points("training", "3.0", "unet3d")->unit, "epochs");
  EXPECT_EQ(reference_points("training", "3.1", "unet3d")->unit, "samples");
}

TEST(ReferencePoints, CountWhatThePositionsOfTheBenchmarkDo) {
  EXPECT_EQ(reference_points("training", "5.0", "bert")->unit, "samples");
  EXPECT_EQ(reference_points("training", "4.1", "gpt3")->unit, "tokens");
  EXPECT_EQ(reference_points("training", "4.1", "dlrm_dcnv2")->unit, "passes over the data");
}

TEST(ReferencePoints, OfUnet3dLeaveOutFourRunsAtEachEnd) {
  const ReferenceSet set = reference_points("training", "4.0", "unet3d").value();
  EXPECT_EQ(set.runs_required, 40);
  EXPECT_EQ(set.dropped_each_end, 4u);
  EXPECT_EQ(set.extremes(), "the 4 fastest and the 4 slowest runs");
  EXPECT_EQ(reference_points("training", "4.0", "ssd")->extremes(),
            "the fastest and the slowest run");
}

TEST(ReferencePoints, OfAFileWithAFaultAreRefusedWithItsPlace) {
  EXPECT_THAT(refusal("{"), HasSubstr("oc20.json: line 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("must be"));
  EXPECT_THAT(refusal(with("\"points\"", "\"punkte\"")), HasSubstr("/points: must not be empty"));
  EXPECT_THAT(refusal(with("\"benchmark\"", "\"size\": 1, \"benchmark\"")),
              HasSubstr("size: unknown key"));
  EXPECT_THAT(refusal(with("oc20", "oc21")),
              HasSubstr("/benchmark: must be in configs/benchmarks.json, got oc21"));
  EXPECT_THAT(refusal(with("\"commit\": \"c\",", "")), HasSubstr("/source/commit: is required"));
  EXPECT_THAT(refusal(with("[3, 1, 2]", "[3, 1]")), HasSubstr("/points/0/converged_after"));
  EXPECT_THAT(refusal(with("[3, 1, 2]", "[3, 0, 2]")), HasSubstr("all positive"));
  EXPECT_THAT(refusal(with("\"1.0\", ", "\"1\", ")), HasSubstr("must name rounds"));
  EXPECT_THAT(refusal(with("\"batch_size\": 32", "\"batch_size\": 64")),
              HasSubstr("/points/1: must be the only point of its batch size in round 2.0"));
  EXPECT_THAT(refusal(with("\"batch_size\": 32", "\"batch_size\": 3.5")), HasSubstr("an integer"));
}

TEST(ReferencePoints, OfTheUserAreReadInTheOfficialFormat) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("mine.json", R"({
    "a": {"Benchmark": "deepcam", "BS": 512, "Hyperparams": {}, "Epochs to converge": [4, 6, 5]},
    "b": {"Benchmark": "resnet", "BS": 32, "Hyperparams": {}, "Epochs to converge": [1, 1, 1]},
    "c": {"Benchmark": "deepcam", "BS": 256, "Epochs to converge": [2, 2, 3], "Creator": "me"}})");
  const ReferenceSet set = read_custom_points(path, "3.0", "deepcam");
  EXPECT_EQ(set.runs_required, 5);
  EXPECT_EQ(set.source, path);
  ASSERT_EQ(set.points.size(), 2u);
  EXPECT_EQ(set.points[0].batch_size, 256);
  EXPECT_THAT(set.points[1].converged_after, testing::ElementsAre(4, 5, 6));
}

TEST(ReferencePoints, OfTheUserMayCountSamplesAndHaveAShortName) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("mine.json", R"({
    "a": {"Benchmark": "flux1", "BS": 512, "samples to converge": [4, 6, 5]},
    "b": {"Benchmark": "sd", "BS": 1024, "Epochs to converge": [2500, 2500, 3000]},
    "c": {"Benchmark": "llama31_405b", "BS": 1152, "Epochs to converge": [3, 3, 3]}})");
  const ReferenceSet flux = read_custom_points(path, "5.1", "flux1");
  EXPECT_EQ(flux.unit, "samples");
  ASSERT_EQ(flux.points.size(), 1u);
  EXPECT_THAT(flux.points[0].converged_after, testing::ElementsAre(4, 5, 6));
  const ReferenceSet steps = read_custom_points(path, "3.1", "stable_diffusion");
  EXPECT_EQ(steps.unit, "steps");
  EXPECT_EQ(steps.points.size(), 1u);
  EXPECT_EQ(read_custom_points(path, "5.0", "stable_diffusion").unit, "samples");
  EXPECT_EQ(read_custom_points(path, "5.0", "llama31_405b").leeway, 46080);
}

TEST(ReferencePoints, OfTheUserWithAFaultAreRefused) {
  const base::TemporaryDirectory folder;
  const std::string path =
      folder.write("mine.json", R"({"a": {"Benchmark": "oc20", "Epochs to converge": [4, 6, 5]}})");
  const auto read = [&](const char* benchmark) {
    return base::thrown_message<base::ConfigError>(
        [&] { read_custom_points(path, "3.0", benchmark); });
  };
  EXPECT_THAT(read("oc20"), HasSubstr("/BS: is required"));
  EXPECT_THAT(read("nonsense"), HasSubstr("no known benchmark"));
  const std::string short_path = folder.write(
      "unet3d.json",
      R"({"a": {"Benchmark": "unet3d", "BS": 2, "Epochs to converge": [1, 2, 3, 4, 5, 6, 7, 8]}})");
  EXPECT_THAT(base::thrown_message<base::ConfigError>(
                  [&] { read_custom_points(short_path, "3.0", "unet3d"); }),
              HasSubstr("must hold at least 9 numbers"));
}

}  // namespace

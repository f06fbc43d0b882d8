// The command scale from outside: what it prints, and what it refuses.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::HasSubstr;
using testing::IsEmpty;

class ScaleCommand : public outside::ProgramTest {
 protected:
  Ended scale(const std::string& arguments) const { return shell(TRAINMARK " scale " + arguments); }
};

const std::string kConfig = "configs/resnet50/mlperf_8192.json ";

TEST_F(ScaleCommand, WritesOneDocument) {
  const Ended ended = scale(kConfig + "--batch 8192,32768 --ranks 1,64,512 --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json all = json::parse(ended.out);
  ASSERT_EQ(all["rows"].size(), 6U);
  EXPECT_EQ(all["workload"], "resnet50");
  EXPECT_NEAR(all["flops_per_parameter"].get<double>(), 320.0, 0.05);
  const json& row = all["rows"][4];
  EXPECT_EQ(row["global_batch"], 32768);
  EXPECT_EQ(row["ranks"], 64);
  EXPECT_EQ(row["steps_per_epoch"], 1281167 / 32768);
  EXPECT_EQ(row["all_bytes_per_step"], 2 * 63 * row["gradient_bytes"].get<std::int64_t>());
  EXPECT_EQ(all["rows"][0]["all_bytes"], 0);
  EXPECT_EQ(all["rows"][0]["flops_per_step"], all["rows"][2]["flops_per_step"]);
}

TEST_F(ScaleCommand, PrintsATableAndWritesCsv) {
  const std::string file = (folder_ / "scale.csv").string();
  const Ended ended = scale(kConfig +
                            "--ranks 64 --ranks-per-node 2 --rate 100 --link 10Gbit/s "
                            "--latency 50us --csv " +
                            file);
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("25557032 parameters; 8.178 GFLOP forward"));
  EXPECT_THAT(ended.out, HasSubstr("a rank computes 100 samples/s (--rate)"));
  EXPECT_THAT(ended.out, HasSubstr("1.28"));
  EXPECT_THAT(content(file), HasSubstr("\n8192,64,32,128.0,"));
}

TEST_F(ScaleCommand, TellsWhatIsImpossibleAndGoesOn) {
  const Ended ended = scale(kConfig + "--set training.bn_group_samples=1 --batch 64 --ranks 64,65");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("batch 64 on 65 ranks: "));
  const Ended own = scale(kConfig + "--set training.bn_group_samples=1 --ranks 2,8193");
  EXPECT_THAT(own.out, HasSubstr("batch 8192 on 8193 ranks: "));
  const Ended none = scale(kConfig + "--set training.bn_group_samples=1 --batch 64 --ranks 65");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.out, IsEmpty());
}

TEST_F(ScaleCommand, RefusesWhatItCannotTell) {
  EXPECT_THAT(scale("configs/dlrm/mlperf.json").err,
              HasSubstr("scale: dlrm: expected a workload whose ranks replicate the model "
                        "(resnet50, alexnet, cosmoflow, deepcam"));
  for (const char* const arguments :
       {"--link 10Gbit/s", "--latency 1ms", "--link 10 --latency 1ms", "--rate 0", "--ranks 0",
        "--rate 1 --measured results", "--batch 0", "--csv -"}) {
    EXPECT_EQ(scale(kConfig + arguments).status, 2) << arguments;
  }
  EXPECT_EQ(scale("configs/dlrm/mlperf.json").status, 2);
  EXPECT_EQ(scale(kConfig + "--measured " + kConfig).status, 3);
}

TEST_F(ScaleCommand, RefusesRatesOfOtherModels) {
  std::ofstream(folder_ / "bench.json") << json{
      {"workload", "resnet50"},
      {"batch_per_rank", 32},
      {"flops_per_sample", 1000},
      {"breakdown_s_per_step", {{"input", 0}, {"forward", 1}, {"backward", 2}, {"optimizer", 1}}}};
  const std::string file = (folder_ / "bench.json").string();
  const Ended other_size = scale(kConfig + "--measured " + file);
  EXPECT_EQ(other_size.status, 2);
  EXPECT_THAT(other_size.err, HasSubstr("FLOP a sample, got one of 1000"));
  const Ended other = scale("configs/cosmoflow/mlperf.json --measured " + file);
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("expected a rate of cosmoflow, got one of resnet50"));
}

}  // namespace

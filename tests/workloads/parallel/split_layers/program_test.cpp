// `bench hybrid` as users start it: its plan, its table, its JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace {

using nlohmann::json;
using outside::Ended;
using testing::HasSubstr;

class BenchHybrid : public outside::ProgramTest {
 protected:
  Ended bench(int ranks, const std::string& arguments) const {
    return shell("env OMP_NUM_THREADS=1 " + outside::mpirun(ranks) + TRAINMARK " bench hybrid " +
                 arguments);
  }
};

TEST_F(BenchHybrid, PlansAndTrainsBesideDataParallelism) {
  const Ended ended = bench(
      4, "--network perceptron --widths 300,400,200,10 --batch 16 --steps 2 --apart --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("perceptron on 4 ranks, 16 samples a step"));
  const json document = json::parse(ended.out);
  EXPECT_EQ(document["kind"], "hybrid");
  EXPECT_EQ(document["failure"], nullptr);
  EXPECT_EQ(document["plan"]["layers"].size(), 3u);
  ASSERT_EQ(document["models"].size(), 2u);
  const json& planned = document["models"][0];
  const json& data = document["models"][1];
  EXPECT_EQ(planned["name"], "as planned");
  EXPECT_EQ(planned["layers"][0], "1 x 4");
  EXPECT_EQ(data["layers"][0], "4 x 1");
  EXPECT_LT(planned["sent_bytes"].get<double>(), data["sent_bytes"].get<double>() / 2);
  EXPECT_NEAR(planned["loss"].get<double>(), data["loss"].get<double>(), 1e-3);
  EXPECT_EQ(planned["step_s"]["times"].size(), 2u);
}

TEST_F(BenchHybrid, PlansForRanksThatAreNotThere) {
  const Ended ended = bench(1, "--network alexnet --batch 256 --plan-for 16");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("alexnet on 16 ranks, 256 samples a step"));
  EXPECT_THAT(ended.out, testing::ContainsRegex("fc6 +37748736 +.* x "));
}

TEST_F(BenchHybrid, RefusesWhatItCannotTrain) {
  const Ended widths = bench(1, "--widths 3,4");
  EXPECT_EQ(widths.status, 2);
  EXPECT_THAT(widths.err, HasSubstr("--widths: only with --network perceptron"));
  EXPECT_EQ(bench(1, "--network perceptron --widths 3").status, 2);
  const Ended single = bench(1, "--network perceptron --widths 3,1");
  EXPECT_EQ(single.status, 2);
  EXPECT_THAT(single.err, HasSubstr("expected at least 2 outputs"));
  EXPECT_EQ(bench(1, "--network lenet").status, 2);
}

}  // namespace

// `bench split-layers` as users start it: its plan, its table, its JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace {

using nlohmann::json;
using outside::Ended;
using testing::HasSubstr;

class BenchSplitLayers : public outside::ProgramTest {
 protected:
  Ended bench(int ranks, const std::string& arguments) const {
    return shell("env OMP_NUM_THREADS=1 " + outside::mpirun(ranks) +
                 TRAINMARK " bench split-layers " + arguments);
  }
};

TEST_F(BenchSplitLayers, PlansAndTrainsBesideDataParallelism) {
  const Ended ended = bench(
      4, "--network perceptron --widths 300,400,200,10 --batch 16 --steps 2 --apart --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("perceptron on 4 ranks, 16 samples a step"));
  const json document = json::parse(ended.out);
  EXPECT_EQ(document["kind"], "split-layers");
  EXPECT_EQ(document["failure"], nullptr);
  EXPECT_EQ(document["plan"]["layers"].size(), 3u);
  ASSERT_EQ(document["models"].size(), 2u);
  const json& planned = document["models"][0];
  const json& data = document["models"][1];
  EXPECT_EQ(planned["name"], "as planned");
  EXPECT_EQ(planned["layers"][0], "1 x 4");
  EXPECT_EQ(data["layers"][0], "4 x 1");
  EXPECT_LT(planned["sent_bytes"].get<double>(), data["sent_bytes"].get<double>() / 2);
  const auto learned = [](const json& model) {
    return model["first_loss"].get<double>() - model["loss"].get<double>();
  };
  EXPECT_GT(learned(data), 0.0);
  EXPECT_NEAR(learned(planned), learned(data), 0.01 * learned(data));
  ASSERT_EQ(document["plan"]["exchanges"].size(), 4u);
  EXPECT_EQ(document["plan"]["exchanges"][0]["forward"], "alltoall");
  EXPECT_EQ(document["plan"]["exchanges"][1]["backward"], "all-gather");
  EXPECT_EQ(planned["step_s"]["times"].size(), 2u);
}

TEST_F(BenchSplitLayers, PlansForRanksThatAreNotThere) {
  const Ended ended = bench(1, "--network alexnet --batch 256 --plan-for 16");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("alexnet on 16 ranks, 256 samples a step"));
  EXPECT_THAT(ended.out,
              testing::ContainsRegex(
                  "fc6 +37748736 +[0-9.]+ +[0-9]+ x [0-9]+ +[0-9]+ x [0-9]+ +\\+[0-9.]+"));
}

TEST_F(BenchSplitLayers, RefusesWhatItCannotTrain) {
  const Ended widths = bench(1, "--widths 3,4");
  EXPECT_EQ(widths.status, 2);
  EXPECT_THAT(widths.err, HasSubstr("--widths: only with --network perceptron"));
  EXPECT_EQ(bench(1, "--network perceptron --widths 3").status, 2);
  const Ended single = bench(1, "--network perceptron --widths 3,1");
  EXPECT_EQ(single.status, 2);
  EXPECT_THAT(single.err, HasSubstr("expected at least 2 outputs"));
  EXPECT_EQ(bench(1, "--network lenet").status, 2);
  const Ended unused = bench(1, "--plan-for 4 --group 2");
  EXPECT_EQ(unused.status, 2);
  EXPECT_THAT(unused.err, HasSubstr("--plan-for trains nothing"));
  const Ended large = bench(2, "--network perceptron --widths 2,2 --batch 1048576");
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.err, HasSubstr("--batch: expected less than 262144 samples for each part"));
  const Ended memory = bench(2, "--network vgg16 --batch 100000");
  EXPECT_EQ(memory.status, 2);
  EXPECT_THAT(memory.err, HasSubstr("--batch takes fewer samples"));
}

}  // namespace

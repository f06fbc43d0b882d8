// Tests of the three ways to write figures.
#include "runner/scale/table.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace scale {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// 320 forward FLOPs a parameter; 10 steps an epoch.
Result result_of(const Rates& rates) {
  runner::TrainingScale scale;
  scale.parameters = 100;
  scale.train_samples = 645;
  scale.global_batch = 64;
  scale.steps_per_epoch = 10;
  scale.forward_flops = 32'000;
  scale.training_flops = 96'000;
  scale.rank_samples = 32;
  scale.gradient_bytes = 400;
  scale.nodes = 2;
  scale.gradients = {{200, 4}, {400, 8}, {800, 16}, 2};
  scale.hiding_share = 0.5;
  const Row possible{64, 2, 3, "", scale, predict(scale, rates)};
  return {"toy", "toy.json", {possible, {64, 1000, 3, "no \"samples\" for all", {}, {}}}, rates};
}
const Rates kMeasured = {ComputeRate{16, "test", 0, ""}, Link{100, 0.25, "--link"}};

TEST(ScaleDocument, MultipliesStepsToEpochsAndRuns) {
  const json all = document(result_of({}));
  EXPECT_EQ(all["flops_per_parameter"], 320);
  const json& row = all["rows"][0];
  EXPECT_EQ(row["steps"], 30);
  EXPECT_EQ(row["flops_per_step"], 64 * 96'000);
  EXPECT_EQ(row["flops"], 30 * 64 * 96'000);
  EXPECT_EQ(row["rank_bytes_per_step"], 200);
  EXPECT_EQ(row["node_bytes_per_epoch"], 4000);
  EXPECT_EQ(row["all_bytes"], 24'000);
  EXPECT_EQ(row["rank_messages_per_epoch"], 40);
  EXPECT_EQ(row["all_messages"], 480);
  EXPECT_EQ(row["paper_iterations"], 3 * 645 / 64);
  EXPECT_EQ(row["problem"], nullptr);
}

TEST(ScaleDocument, DefinesEveryFigure) {
  for (const Rates& rates : {Rates(), kMeasured}) {
    const json all = document(result_of(rates));
    for (const json& row : all["rows"]) {
      for (const auto& [name, value] : row.items()) {
        if (name == "ranks") continue;
        EXPECT_TRUE(all["definitions"].contains(name)) << name;
      }
    }
  }
}

TEST(ScaleDocument, SaysWhyARowIsImpossible) {
  const json row = document(result_of({}))["rows"][1];
  EXPECT_EQ(row["problem"], "no \"samples\" for all");
  EXPECT_EQ(row["ranks"], 1000);
  EXPECT_EQ(row["steps"], nullptr);
}

TEST(ScaleDocument, HasTimesOnlyWithRates) {
  EXPECT_FALSE(document(result_of({}))["rows"][0].contains("compute_s"));
  const json row = document(result_of(kMeasured))["rows"][0];
  EXPECT_EQ(row["compute_s"], 2);
  EXPECT_EQ(row["step_least_s"], 2 + (4 + 0.5) - 1);
  EXPECT_EQ(row["step_most_s"], 2 + 4 + 8 * 0.25);
  EXPECT_EQ(row["epoch_most_s"], 80);
  EXPECT_EQ(row["run_most_s"], 240);
  EXPECT_EQ(row["efficiency_least"], 0.25);
  const json unlinked = document(result_of({kMeasured.compute, {}}))["rows"][0];
  EXPECT_EQ(unlinked["compute_s"], 2);
  EXPECT_EQ(unlinked["step_most_s"], nullptr);
  EXPECT_EQ(unlinked["efficiency_most"], nullptr);
}

TEST(ScaleDocument, KeepsWhatExceedsAnInteger) {
  Result result = result_of({});
  result.rows[0].scale.training_flops = std::numeric_limits<std::int64_t>::max() / 64;
  const json row = document(result)["rows"][0];
  EXPECT_TRUE(row["flops_per_step"].is_number_integer());
  EXPECT_NEAR(row["flops"].get<double>() / 2.767e20, 1.0, 1e-3);
}

TEST(ScaleTable, ShowsRowsAndWhatIsNotPredicted) {
  std::ostringstream plain, timed;
  print(result_of({}), plain);
  EXPECT_THAT(plain.str(), HasSubstr("320.0 forward FLOP a parameter"));
  EXPECT_THAT(plain.str(), HasSubstr("batch 64 on 1000 ranks: no \"samples\" for all"));
  EXPECT_THAT(plain.str(), HasSubstr("no times: give --rate"));
  EXPECT_THAT(plain.str(), Not(HasSubstr("step s")));
  print(result_of(kMeasured), timed);
  EXPECT_THAT(timed.str(), HasSubstr("5.5 .. 8"));
  EXPECT_THAT(timed.str(), HasSubstr("at most: behind nothing"));
}

TEST(ScaleCsv, HasALineForEachRow) {
  const std::string text = csv(result_of({}));
  EXPECT_THAT(text, testing::StartsWith("global_batch,ranks,nodes,"));
  EXPECT_THAT(text, HasSubstr("\n64,2,2,32.0,400,10,30,"));
  EXPECT_THAT(text, HasSubstr(",\"no \"\"samples\"\" for all\"\n"));
  const auto line_end = text.find('\n');
  EXPECT_EQ(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line_end), ','),
      std::count(text.begin() + static_cast<std::ptrdiff_t>(line_end),
                 text.begin() + static_cast<std::ptrdiff_t>(text.find('\n', line_end + 1)), ','));
}

}  // namespace
}  // namespace scale

// Tests of the learning rate of each epoch against known answers and formulas.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/optimizer/plain_schedules.h"

namespace cosmoflow {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kEpochs = 100;

nn::Schedule parsed_schedule(const json& object, std::int64_t batch = 64) {
  const base::ObjectReader reader(object, "small.json");
  const nn::Schedule schedule(parse_schedule(reader, batch, kEpochs));
  reader.reject_unknown();
  return schedule;
}

/// A batch of 256, four times the reference's 64, gives four times the rate.
TEST(CosmoFlowSchedule, HasTheKnownRates) {
  const nn::Schedule schedule = parsed_schedule({{"learning_rate", 0.001},
                                                 {"warmup_epochs", 4},
                                                 {"decay_boundary_epochs", {32, 64}},
                                                 {"decay_factors", {0.25, 0.125}}},
                                                256);
  const std::pair<std::int64_t, double> known[] = {
      {0, 0.001},  {1, 0.00175}, {2, 0.0025}, {3, 0.00325}, {4, 0.004},    {5, 0.004},
      {32, 0.004}, {33, 0.001},  {64, 0.001}, {65, 0.0005}, {1000, 0.0005}};
  for (const auto& [epochs_done, rate] : known) {
    EXPECT_DOUBLE_EQ(schedule.learning_rate(epochs_done), rate) << epochs_done;
  }
}

TEST(CosmoFlowSchedule, IsConstantWhereNothingIsSaid) {
  const nn::Schedule schedule = parsed_schedule(json::object());
  EXPECT_EQ(schedule.config().warmup.from, 0.001);
  EXPECT_EQ(schedule.config().peak, 0.001);
  for (const std::int64_t epoch : {0, 1, 50, 10'000}) {
    EXPECT_EQ(schedule.learning_rate(epoch), 0.001);
  }
}

TEST(CosmoFlowSchedule, ScalesThePeakWithTheBatch) {
  const auto peak = [](const json& rest, std::int64_t batch) {
    json object = rest;
    object["learning_rate"] = 0.002;
    return parsed_schedule(object, batch).config().peak;
  };
  EXPECT_DOUBLE_EQ(peak(json::object(), 256), 0.008);
  EXPECT_DOUBLE_EQ(peak({{"scaling", "linear"}, {"reference_batch", 128}}, 256), 0.004);
  EXPECT_DOUBLE_EQ(peak({{"scaling", "sqrt"}}, 256), 0.004);
  EXPECT_DOUBLE_EQ(peak({{"scaling", "sqrt"}}, 16), 0.001);
  EXPECT_DOUBLE_EQ(peak({{"scaling", "none"}}, 256), 0.002);
  EXPECT_DOUBLE_EQ(peak({{"peak_learning_rate", 0.05}}, 256), 0.05);
  EXPECT_DOUBLE_EQ(peak({{"scaling", "linear"}, {"peak_learning_rate", 0.05}}, 256), 0.05);
  EXPECT_DOUBLE_EQ(peak({{"peak_learning_rate", 0}}, 256), 0.008);
}

/// The reference convergence point with a batch of 512.
TEST(CosmoFlowSchedule, TakesEachBoundaryOneEpochLate) {
  const nn::Schedule schedule = parsed_schedule({{"learning_rate", 0.0015},
                                                 {"peak_learning_rate", 0.006},
                                                 {"warmup_epochs", 6},
                                                 {"decay_boundary_epochs", {19, 21, 22, 23}},
                                                 {"decay_factors", {0.5, 0.25, 0.125, 0.0625}}},
                                                512);
  std::vector<double> factors;
  for (std::int64_t epoch = 18; epoch < 26; ++epoch) {
    factors.push_back(schedule.learning_rate(epoch) / schedule.config().peak);
  }
  EXPECT_THAT(factors, ElementsAre(1.0, 1.0, 0.5, 0.5, 0.25, 0.125, 0.0625, 0.0625));
  EXPECT_DOUBLE_EQ(schedule.learning_rate(3), 0.0015 + 3 * 0.0045 / 6);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(6), 0.006);
}

json decaying(const char* decay) {
  return {{"learning_rate", 0.01}, {"peak_learning_rate", 0.1}, {"warmup_epochs", 10},
          {"decay", decay},        {"decay_epochs", 50},        {"end_factor", 0.2}};
}

/// From the peak after warm-up to a fifth of it.
void expect_decay(const nn::Schedule& schedule, double (*share)(double)) {
  EXPECT_DOUBLE_EQ(schedule.learning_rate(9), 0.01 + 9 * 0.09 / 10);
  double before = 1.0;
  for (std::int64_t epoch = 10; epoch < 60; ++epoch) {
    const double t = std::min(static_cast<double>(epoch - 10) / 40.0, 1.0);
    const double rate = schedule.learning_rate(epoch);
    EXPECT_DOUBLE_EQ(rate, 0.1 * (0.8 * share(t) + 0.2)) << epoch;
    EXPECT_LE(rate, before);
    before = rate;
  }
}

TEST(CosmoFlowSchedule, DecaysAsAPolynomial) {
  json object = decaying("polynomial");
  expect_decay(parsed_schedule(object), [](double t) { return 1.0 - t; });
  object["power"] = 2;
  expect_decay(parsed_schedule(object), [](double t) { return (1.0 - t) * (1.0 - t); });
  EXPECT_DOUBLE_EQ(parsed_schedule(object).learning_rate(10), 0.1);
  EXPECT_DOUBLE_EQ(parsed_schedule(object).learning_rate(50), 0.02);
}

TEST(CosmoFlowSchedule, DecaysAsACosine) {
  expect_decay(parsed_schedule(decaying("cosine")),
               [](double t) { return (1.0 + std::cos(std::numbers::pi * t)) / 2.0; });
  EXPECT_DOUBLE_EQ(parsed_schedule(decaying("cosine")).learning_rate(30), 0.06);  // half way
}

/// The share goes from 0.999994 to 0.0025.
TEST(CosmoFlowSchedule, DecaysAsAHyperbolicTangent) {
  const nn::Schedule schedule = parsed_schedule(decaying("htd"));
  expect_decay(schedule, [](double t) { return (1.0 - std::tanh(-6.0 + 9.0 * t)) / 2.0; });
  EXPECT_NEAR(schedule.learning_rate(10), 0.1, 1e-6);
  EXPECT_NEAR(schedule.learning_rate(50), 0.02, 3e-4);
}

TEST(CosmoFlowSchedule, DecaysToTheLastEpochWhereNothingElseIsSaid) {
  EXPECT_EQ(parsed_schedule({{"decay", "cosine"}}).config().decay.length, kEpochs);
  EXPECT_NEAR(parsed_schedule({{"decay", "polynomial"}}).learning_rate(kEpochs), 0.0, 1e-18);
}

void expect_bits(const json& object, const plain_schedules::CosmoFlow& plain) {
  SCOPED_TRACE(object.dump());
  const nn::Schedule schedule = parsed_schedule(object);
  for (std::int64_t epoch = 0; epoch < 150; ++epoch) {
    ASSERT_EQ(schedule.learning_rate(epoch), plain_schedules::cosmoflow(plain, epoch)) << epoch;
  }
}

TEST(CosmoFlowSchedule, HasTheBitsOfItsFormula) {
  for (const std::int64_t warmup : {0, 1, 7}) {
    plain_schedules::CosmoFlow plain;
    plain.base = 0.0013;
    plain.peak = 0.0071;
    plain.warmup = warmup;
    json object = {{"learning_rate", plain.base},
                   {"peak_learning_rate", plain.peak},
                   {"warmup_epochs", warmup}};
    json falling = object;
    object["decay_boundary_epochs"] = plain.boundaries = {3, 20, 64};
    object["decay_factors"] = plain.factors = {0.3, 0.7, 0.11};
    expect_bits(object, plain);
    falling["decay_epochs"] = plain.decay_epochs = 97;
    falling["end_factor"] = plain.end_factor = 0.03;
    falling["decay"] = "cosine";
    plain.share = [](double t) { return (1.0 + std::cos(std::numbers::pi * t)) / 2.0; };
    expect_bits(falling, plain);
    falling["decay"] = "htd";
    plain.share = [](double t) { return (1.0 - std::tanh(-6.0 + 9.0 * t)) / 2.0; };
    expect_bits(falling, plain);
    falling["decay"] = "polynomial";
    falling["power"] = 1.7;
    plain.share = [](double t) { return std::pow(1.0 - t, 1.7); };
    expect_bits(falling, plain);
  }
}

TEST(CosmoFlowSchedule, RefusesWhatMeansNothing) {
  const auto refusal = [](const json& object) {
    return base::thrown_message<base::ConfigError>([&] { parsed_schedule(object); });
  };
  const auto steps = [&](const json& boundaries, const json& factors) {
    return refusal({{"decay_boundary_epochs", boundaries}, {"decay_factors", factors}});
  };
  EXPECT_THAT(steps({32, 32}, {0.5, 0.25}),
              HasSubstr("small.json: /decay_boundary_epochs: must rise from above 0, got 32"));
  EXPECT_THAT(steps({0}, {0.5}), HasSubstr("/decay_boundary_epochs: must rise from above 0"));
  EXPECT_THAT(steps({2'000'000}, {0.5}), HasSubstr("got 2000000"));
  EXPECT_THAT(steps({1, 2}, {0.5}),
              HasSubstr("/decay_factors: expected 2, one for each boundary, got 1"));
  for (const double factor : {0.0, 1.0, -0.5, 2.0}) {
    EXPECT_THAT(steps({1}, {factor}), HasSubstr("/decay_factors: must be between 0 and 1, got "));
  }
  EXPECT_THAT(refusal({{"decay", "cosine"}, {"warmup_epochs", 10}, {"decay_epochs", 10}}),
              HasSubstr("/decay_epochs: must end after the 10 epochs of warm-up, got 10"));
  EXPECT_THAT(refusal({{"decay", "cosine"}, {"warmup_epochs", kEpochs}}),
              HasSubstr("/decay_epochs: must end after the 100 epochs of warm-up, got 100"));
  for (const char* key : {"learning_rate", "reference_batch"}) {
    EXPECT_THAT(refusal({{key, 0}}), HasSubstr(std::string("/") + key)) << key;
  }
  EXPECT_THAT(refusal({{"peak_learning_rate", -1}}), HasSubstr("/peak_learning_rate"));
  EXPECT_THAT(refusal({{"warmup_epochs", -1}}), HasSubstr("/warmup_epochs"));
  EXPECT_THAT(refusal({{"decay", "htd"}, {"end_factor", 1.5}}), HasSubstr("/end_factor"));
  EXPECT_THAT(refusal({{"decay", "polynomial"}, {"power", 0}}), HasSubstr("/power"));
  EXPECT_THAT(refusal({{"decay", "exponential"}}), HasSubstr("/decay"));
  EXPECT_THAT(refusal({{"scaling", "cubic"}}), HasSubstr("/scaling"));
  // A key of one decay is unknown to the others.
  EXPECT_THAT(refusal({{"decay", "step"}, {"decay_epochs", 10}}), HasSubstr("/decay_epochs"));
  EXPECT_THAT(refusal({{"decay", "cosine"}, {"power", 2}}), HasSubstr("/power"));
  EXPECT_THAT(refusal({{"decay", "cosine"}, {"decay_factors", json::array()}}),
              HasSubstr("/decay_factors"));
}

}  // namespace
}  // namespace cosmoflow

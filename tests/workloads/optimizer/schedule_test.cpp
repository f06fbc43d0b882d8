// Schedules against published points and against their own definitions.
#include "workloads/optimizer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "runner/base/error.h"
#include "workloads/optimizer/plain_schedules.h"

namespace {

struct Length {
  std::int64_t global_batch = 256, steps_per_epoch = 100, epochs = 10;
};

nn::Schedule parse(const char* text, const Length& run = {}) {
  const base::ObjectReader reader(nlohmann::json::parse(text), "t.json");
  nn::Schedule schedule =
      nn::parse_schedule(reader, run.global_batch, run.steps_per_epoch, run.epochs);
  reader.reject_unknown();
  return schedule;
}

void expect_points(const nn::Schedule& schedule,
                   const std::vector<std::pair<std::int64_t, double>>& points, double tolerance) {
  for (const auto& [step, rate] : points) {
    EXPECT_NEAR(schedule.learning_rate(step), rate, tolerance) << "at step " << step;
  }
}

TEST(Polynomial, FollowsTheReferenceAtBatch4096) {
  const auto schedule =
      parse(R"({"name": "polynomial", "learning_rate": 10, "warmup_epochs": 5})", {4096, 312, 42});
  EXPECT_EQ(schedule.config().warmup.length, 1560);
  EXPECT_EQ(schedule.config().decay.length, 11545);
  EXPECT_EQ(schedule.learning_rate(0), 0.0);
  EXPECT_EQ(schedule.learning_rate(1560), 10.0);
  expect_points(schedule,
                {{1, .00641025641}, {780, 5}, {1561, 9.99826774068}, {5000, 4.92858933268}}, 1e-10);
  EXPECT_NEAR(schedule.learning_rate(13103), .0001003001, 5e-11);
}

TEST(Polynomial, FollowsASubmissionWhoseStepsWereGivenDirectly) {
  // 3127 warm-up steps of 25656 in all, so the decay takes 25656 - 3127 + 1 steps.
  const auto schedule = parse(R"({"name": "polynomial", "learning_rate": 8.5, "warmup_steps": 3127,
                                  "decay_steps": 22530})",
                              {2048, 625, 44});
  expect_points(schedule, {{1000, 2.718260}, {10000, 4.105056}, {20000, 0.535975}}, 5e-7);
}

/// AlexNet-BN's solvers for batches of 32K: warm-up begins at 1, and the rate falls where it ends.
TEST(Polynomial, CanCountFromTheFirstUpdate) {
  const auto schedule = parse(R"({"name": "polynomial", "learning_rate": 32, "warmup_steps": 400,
                                  "warmup_start_learning_rate": 1, "decay_from_start": true,
                                  "decay_steps": 4000, "end_learning_rate": 0})",
                              {32768, 39, 103});
  expect_points(
      schedule,
      {{0, 1}, {200, 16.5}, {399, 31.9225}, {400, 25.92}, {2000, 8}, {4000, 0}, {4010, 0}}, 1e-9);
  const auto of_run = parse(R"({"name": "polynomial", "learning_rate": 0.08,
                                "decay_from_start": true, "end_learning_rate": 0})",
                            {512, 2500, 100});
  expect_points(of_run, {{0, .08}, {125000, .02}, {250000, 0}}, 1e-12);
}

TEST(Polynomial, HoldsTheEndRateAfterTheDecay) {
  const auto schedule = parse(R"({"name": "polynomial", "learning_rate": 1, "decay_epochs": 4,
                                  "power": 1, "end_learning_rate": 0.25})");
  EXPECT_NEAR(schedule.learning_rate(200), 0.25 + 0.75 * (1.0 - 200.0 / 401.0), 1e-12);
  EXPECT_EQ(schedule.learning_rate(401), 0.25);
  EXPECT_EQ(schedule.learning_rate(100000), 0.25);
}

/// The rate of update number `count`, counted from 1.
double rate_at(const nn::Schedule& schedule, std::int64_t count) {
  return schedule.learning_rate(count - 1);
}

/// Rates computed update by update as in the reference, which keeps the last rate where it computes
/// none.
std::vector<double> twin_delayed_polynomial(double base, std::int64_t warmup, std::int64_t start,
                                            std::int64_t steps, std::int64_t updates) {
  std::vector<double> rates;
  double last = base;
  for (std::int64_t count = 1; count <= updates; ++count) {
    double rate = steps > 0 ? last : base;
    if (count < warmup) {
      rate = last =
          base * (1.0 - static_cast<double>(warmup - count) / static_cast<double>(warmup));
    } else if (start <= count && count < start + steps) {
      const double left = static_cast<double>(steps - (count - start)) / static_cast<double>(steps);
      rate = last = std::max(1e-7, base * left * left);
    }
    rates.push_back(rate);
  }
  return rates;
}

TEST(DelayedPolynomial, FollowsTheReferenceOfDlrm) {
  const auto schedule = parse(R"({"name": "delayed_polynomial", "learning_rate": 18,
      "warmup_steps": 8000, "decay_start_step": 70000, "decay_steps": 30000})",
                              {32768, 128027, 1});
  EXPECT_NEAR(rate_at(schedule, 1), .00225, 1e-15);
  EXPECT_NEAR(rate_at(schedule, 4000), 9.0, 1e-12);
  EXPECT_NEAR(rate_at(schedule, 7999), 17.99775, 1e-12);
  EXPECT_EQ(rate_at(schedule, 70000), 18.0);
  EXPECT_NEAR(rate_at(schedule, 85000), 4.5, 1e-12);
  EXPECT_EQ(rate_at(schedule, 99999), 1e-7);
  EXPECT_EQ(rate_at(schedule, 120000), 1e-7);
}

TEST(DelayedPolynomial, TellsALogItsSteps) {
  const nn::ScheduleConfig config = parse(R"({"name": "delayed_polynomial", "learning_rate": 24,
      "warmup_steps": 275, "decay_start_step": 493, "decay_steps": 278})")
                                        .config();
  EXPECT_EQ(config.peak, 24.0);
  EXPECT_EQ(config.warmup.length, 275);
  EXPECT_EQ(config.decay.begin, 493);
  EXPECT_EQ(config.decay.length, 278);
  EXPECT_EQ(config.decay.power, 2.0);
}

TEST(DelayedPolynomial, HoldsTheLastRateAsItsTwin) {
  struct Case {
    std::int64_t warmup, start, steps;
  };
  for (const Case& c : {Case{10, 30, 20}, Case{10, 10, 5}, Case{0, 7, 13}, Case{1, 1, 4},
                        Case{2, 3, 1}, Case{10, 1, 0}, Case{0, 1, 0}}) {
    SCOPED_TRACE(testing::Message() << c.warmup << ' ' << c.start << ' ' << c.steps);
    nn::ScheduleConfig config;
    config.peak = 3.0;
    config.warmup = {.rise = nn::Rise::kCounted, .length = c.warmup};
    config.decay.shape = nn::DecayShape::kDelayedPolynomial;
    config.decay.end = 1e-7;
    config.decay.begin = c.start;
    config.decay.length = c.steps;
    const nn::Schedule schedule(config);
    const auto expected = twin_delayed_polynomial(3.0, c.warmup, c.start, c.steps, 70);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(schedule.learning_rate(static_cast<std::int64_t>(i)), expected[i], 1e-14) << i;
    }
  }
}

TEST(DelayedPolynomial, StaysAtTheBaseRateWithoutADecay) {
  const auto schedule = parse(R"({"name": "delayed_polynomial", "learning_rate": 2,
                                  "warmup_steps": 4, "decay_steps": 0})");
  EXPECT_EQ(rate_at(schedule, 3), 1.5);
  EXPECT_EQ(rate_at(schedule, 4), 2.0);
  EXPECT_EQ(rate_at(schedule, 100000), 2.0);
}

TEST(DelayedPolynomial, CanFallByAnotherPowerToAnotherEnd) {
  const auto schedule = parse(R"({"name": "delayed_polynomial", "learning_rate": 8, "power": 3,
      "decay_start_step": 1, "decay_steps": 4, "end_learning_rate": 0.5})");
  expect_points(schedule, {{0, 8}, {1, 8 * 27.0 / 64}, {2, 1}, {3, .5}, {9, .5}}, 1e-14);
}

TEST(Constant, RisesThroughWarmupAndStays) {
  const auto schedule = parse(R"({"name": "constant", "learning_rate": 0.5, "warmup_epochs": 0.5,
                                  "warmup_start_learning_rate": 0.1})");
  expect_points(schedule, {{0, .1}, {25, .3}, {50, .5}, {51, .5}, {99999, .5}}, 1e-12);
}

TEST(Constant, WithoutWarmupBeginsAtTheRate) {
  EXPECT_EQ(parse(R"({"learning_rate": 0.5})").learning_rate(0), 0.5);
}

TEST(Step, ChangesWithTheFirstUpdateOfTheMilestonesEpoch) {
  const auto schedule = parse(R"({"name": "step", "learning_rate": 1, "warmup_epochs": 1,
                                  "milestone_epochs": [3, 6, 8]})");
  expect_points(schedule,
                {{50, .5}, {100, 1}, {299, 1}, {300, .1}, {599, .1}, {600, .01}, {800, .001}},
                1e-15);
}

TEST(Cosine, FallsByHalfACosine) {
  const auto schedule = parse(R"({"name": "cosine", "learning_rate": 0.4, "warmup_epochs": 2,
                                  "end_learning_rate": 0.04})");
  expect_points(schedule, {{100, .2}, {200, .4}, {600, .22}, {1000, .04}, {5000, .04}}, 1e-12);
  EXPECT_NEAR(schedule.learning_rate(400), 0.04 + 0.36 * (1 + std::cos(std::numbers::pi / 4)) / 2,
              1e-12);
}

TEST(OneCycle, RisesToItsPeakAndFallsFarBelowItsStart) {
  // PyTorch's OneCycleLR(max_lr=1, total_steps=1000, pct_start=0.3, anneal_strategy="linear"):
  // the peak is at step 299, the end at step 999.
  const auto schedule = parse(R"({"name": "one_cycle", "learning_rate": 1, "anneal": "linear"})");
  const double start = 1.0 / 25, end = start / 1e4;
  expect_points(schedule, {{0, start}, {299, 1}, {999, end}, {2000, end}, {649, (1 + end) / 2}},
                1e-12);
  EXPECT_NEAR(schedule.learning_rate(100), start + (1 - start) * 100 / 299, 1e-12);
}

TEST(OneCycle, CanFallByACosine) {
  const auto schedule = parse(R"({"name": "one_cycle", "learning_rate": 2, "div_factor": 10,
                                  "final_div_factor": 100, "peak_at": 0.5, "anneal": "cosine"})");
  expect_points(schedule, {{0, .2}, {499, 2}, {749, (2 + .002) / 2}, {999, .002}}, 1e-12);
}

TEST(OneCycle, NeedsOnlyOneStep) {
  const auto schedule = parse(R"({"name": "one_cycle", "learning_rate": 1})", {256, 1, 1});
  EXPECT_TRUE(std::isfinite(schedule.learning_rate(0)));
}

/// Compares every update of a run, and some after it, bit for bit.
template <class Plain>
void expect_bits(const nlohmann::json& section, const Plain& plain) {
  SCOPED_TRACE(section.dump());
  const Length run{256, 37, 11};
  const auto schedule = parse(section.dump().c_str(), run);
  for (std::int64_t s = 0; s < run.steps_per_epoch * run.epochs + 50; ++s) {
    ASSERT_EQ(schedule.learning_rate(s), plain(s)) << "at step " << s;
  }
}

/// A schedule with peak 0.3 and a warm-up of 23 updates from 0.007.
nlohmann::json warm(const char* name) {
  return {{"name", name},
          {"learning_rate", 0.3},
          {"warmup_steps", 23},
          {"warmup_start_learning_rate", 0.007}};
}

TEST(EveryUpdate, HasTheBitsOfItsReference) {
  plain_schedules::ByUpdate c;
  c.base = 0.3;
  c.start = 0.007;
  c.warmup = 23;
  c.end = 1e-4;
  c.length = 37 * 11 - 23 + 1;
  expect_bits(warm("polynomial"), [&](std::int64_t s) { return polynomial(c, s); });
  c.end = 0.0;
  c.length = 37 * 11 - 23;
  expect_bits(warm("cosine"), [&](std::int64_t s) { return cosine(c, s); });
  nlohmann::json steps = warm("step");
  steps["milestone_epochs"] = {2, 3.5, 7};
  steps["factor"] = 0.3;
  c.milestones = {74, 130, 259};
  c.factor = 0.3;
  expect_bits(steps, [&](std::int64_t s) { return step(c, s); });
}

TEST(EveryUpdate, HasTheBitsOfItsReferenceWithoutAWarmupOfThatKind) {
  plain_schedules::ByUpdate c;
  c.base = 0.3;
  c.end = 1e-7;
  for (const std::int64_t warmup : {0, 1, 2, 23}) {
    c.warmup = warmup;
    c.length = 97;
    expect_bits({{"name", "delayed_polynomial"},
                 {"learning_rate", 0.3},
                 {"warmup_steps", warmup},
                 {"decay_start_step", 31},
                 {"decay_steps", 97}},
                [&](std::int64_t s) { return delayed_polynomial(c, 31, s); });
  }
  c.length = 37 * 11;
  c.start = 0.3 / 25.0;
  c.end = c.start / 1e4;
  for (const bool is_linear : {false, true}) {
    expect_bits({{"name", "one_cycle"},
                 {"learning_rate", 0.3},
                 {"anneal", is_linear ? "linear" : "cosine"}},
                [&](std::int64_t s) { return one_cycle(c, 0.3, is_linear, s); });
  }
}

TEST(Scaling, MultipliesByTheBatchRatioOrItsRoot) {
  const Length run{1024, 100, 10};
  EXPECT_EQ(parse(R"({"learning_rate": 0.1, "scaling": "linear", "reference_batch": 256})", run)
                .config()
                .peak,
            0.4);
  EXPECT_EQ(parse(R"({"learning_rate": 0.1, "scaling": "sqrt", "reference_batch": 256})", run)
                .config()
                .peak,
            0.2);
  EXPECT_EQ(parse(R"({"learning_rate": 0.1})", run).config().peak, 0.1);
}

TEST(ScheduleConfig, RefusesWhatContradictsItself) {
  for (const char* text : {
           R"({"name": "constant"})",                          // no rate
           R"({"learning_rate": 0})",                          //
           R"({"learning_rate": 1, "scaling": "linear"})",     // no reference batch
           R"({"learning_rate": 1, "reference_batch": 256})",  // without scaling
           R"({"learning_rate": 1, "warmup_epochs": 11})",     // run has 10
           R"({"learning_rate": 1, "warmup_epochs": -1})",     //
           R"({"learning_rate": 1, "warmup_epochs": 1e300})",  // too many updates to count
           R"({"name": "cosine", "learning_rate": 1, "decay_epochs": 1e300})",
           R"({"name": "step", "learning_rate": 1, "milestone_epochs": [1, 1e300]})",
           R"({"learning_rate": 1, "warmup_epochs": 1, "warmup_steps": 10})",
           R"({"learning_rate": 1, "warmup_epochs": 1, "warmup_start_learning_rate": 2})",
           R"({"name": "polynomial", "learning_rate": 1, "end_learning_rate": 2})",
           R"({"name": "polynomial", "learning_rate": 1, "power": 0})",
           R"({"name": "polynomial", "learning_rate": 1, "decay_steps": 0})",
           R"({"name": "delayed_polynomial", "learning_rate": 1})",  // no decay
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": 5})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_start_step": 5})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": -1})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": 5,
               "decay_start_step": 0})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": 5,
               "decay_start_step": 9, "warmup_steps": 10})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": 5,
               "decay_start_step": 10, "warmup_steps": 10, "warmup_start_learning_rate": 0.1})",
           R"({"name": "delayed_polynomial", "learning_rate": 1, "decay_steps": 0,
               "end_learning_rate": 2})",
           R"({"name": "polynomial", "learning_rate": 1, "decay_start_step": 5})",
           R"({"name": "cosine", "learning_rate": 1, "warmup_epochs": 5, "decay_epochs": 5})",
           R"({"name": "cosine", "learning_rate": 1, "milestone_epochs": [3]})",
           R"({"name": "step", "learning_rate": 1})",
           R"({"name": "step", "learning_rate": 1, "milestone_epochs": [0]})",
           R"({"name": "step", "learning_rate": 1, "milestone_epochs": [6, 3]})",
           R"({"name": "step", "learning_rate": 1, "warmup_epochs": 5, "milestone_epochs": [3]})",
           R"({"name": "one_cycle", "learning_rate": 1, "warmup_epochs": 1})",
           R"({"name": "one_cycle", "learning_rate": 1, "div_factor": 0.5})",
           R"({"name": "one_cycle", "learning_rate": 1, "peak_at": 1.5})",
       }) {
    EXPECT_THROW(parse(text), base::ConfigError) << text;
  }
}

TEST(ScheduleConfig, SaysWhereAndWhatItFound) {
  try {
    parse(R"({"name": "polynomial", "learning_rate": 1, "end_learning_rate": 2})");
    FAIL() << "accepted an end above the start";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("t.json: /end_learning_rate: must not exceed"));
    EXPECT_THAT(error.what(), testing::HasSubstr("got 2"));
  }
}

TEST(ScheduleConfig, RefusesAnEpochWithoutAWholeStep) {
  EXPECT_THROW(parse(R"({"learning_rate": 1})", {512, 0, 10}), base::ConfigError);
}

}  // namespace

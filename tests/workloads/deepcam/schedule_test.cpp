// Tests of learning rates against the reference's update-by-update rule.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/deepcam/config.h"
#include "workloads/optimizer/plain_schedules.h"

namespace deepcam {
namespace {

using nlohmann::json;
using testing::HasSubstr;

nn::Schedule parsed_schedule(const json& object) {
  return nn::Schedule(parse_schedule(base::ObjectReader(object, "small.json")));
}

/// The reference's schedulers derive each rate from the previous one, counting updates from 1.
std::vector<double> chained(const nn::ScheduleConfig& schedule, int updates) {
  std::vector<double> rates;
  double rate = schedule.peak;
  const std::int64_t warmup = schedule.warmup.length;
  for (std::int64_t k = 1; k <= updates; ++k) {
    const auto at = static_cast<double>(k);
    if (k < warmup) {
      const double share = at / static_cast<double>(warmup);
      rate = schedule.warmup.factor == 1.0
                 ? schedule.peak * share
                 : schedule.peak * ((schedule.warmup.factor - 1.0) * share + 1.0);
    } else if (schedule.decay.shape == nn::DecayShape::kStep) {
      for (const std::int64_t milestone : schedule.decay.milestones) {
        if (k == milestone + warmup + 1) rate *= schedule.decay.factor;
      }
    } else if (k > warmup) {
      const double e = at - static_cast<double>(warmup);
      const auto period = static_cast<double>(schedule.decay.length);
      const double step = std::numbers::pi / period;
      if (std::fmod(e - 1.0 - period, 2.0 * period) == 0.0) {
        rate += (schedule.peak - schedule.decay.end) * (1.0 - std::cos(step)) / 2.0;
      } else {
        rate = (1.0 + std::cos(step * e)) / (1.0 + std::cos(step * (e - 1.0))) *
                   (rate - schedule.decay.end) +
               schedule.decay.end;
      }
    }
    rates.push_back(rate);
  }
  return rates;
}

void expect_chained(const json& object, int updates) {
  SCOPED_TRACE(object.dump());
  const nn::Schedule schedule = parsed_schedule(object);
  const std::vector<double> expected = chained(schedule.config(), updates);
  for (int s = 0; s < updates; ++s) {
    EXPECT_NEAR(schedule.learning_rate(s), expected[static_cast<std::size_t>(s)], 1e-12) << s;
  }
}

TEST(DeepCamSchedule, StepsDownAsTheReference) {
  expect_chained({{"learning_rate", 0.004}, {"milestones", {5, 9}}}, 20);
  expect_chained({{"learning_rate", 0.004}, {"warmup_steps", 6}, {"milestones", {2, 3, 10}}}, 30);
  expect_chained({{"learning_rate", 0.004},
                  {"warmup_steps", 6},
                  {"warmup_factor", 8},
                  {"milestones", {2}},
                  {"decay_rate", 0.5}},
                 30);
}

TEST(DeepCamSchedule, AnnealsAsTheReference) {
  const json plain = {{"type", "cosine_annealing"}, {"learning_rate", 0.00155}, {"t_max", 10}};
  expect_chained(plain, 10);
  json warm = plain;
  warm["warmup_steps"] = 4;
  warm["eta_min"] = 0.0001;
  expect_chained(warm, 14);
  // After t_max the rate rises again.
  expect_chained(warm, 30);
}

TEST(DeepCamSchedule, KeepsTheRateOfWarmUpsLastUpdate) {
  const nn::Schedule schedule = parsed_schedule({{"learning_rate", 0.4}, {"warmup_steps", 4}});
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(2), 0.3);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(3), 0.3);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(100), 0.3);
}

void expect_bits(const json& object, const plain_schedules::DeepCam& plain) {
  SCOPED_TRACE(object.dump());
  const nn::Schedule schedule = parsed_schedule(object);
  for (std::int64_t s = 0; s < 300; ++s) {
    ASSERT_EQ(schedule.learning_rate(s), plain_schedules::deepcam(plain, s)) << s;
  }
}

TEST(DeepCamSchedule, HasTheBitsOfItsFormula) {
  for (const std::int64_t warmup : {0, 1, 2, 17}) {
    for (const double factor : {1.0, 7.3}) {
      plain_schedules::DeepCam plain;
      plain.base = 0.0055;
      plain.warmup = warmup;
      plain.warmup_factor = factor;
      json object = {
          {"learning_rate", plain.base}, {"warmup_steps", warmup}, {"warmup_factor", factor}};
      json annealed = object;
      object["milestones"] = plain.milestones = {5, 31, 90};
      object["decay_rate"] = plain.decay_rate = 0.3;
      expect_bits(object, plain);
      annealed["type"] = "cosine_annealing";
      annealed["t_max"] = plain.t_max = 113;  // long enough to rise again
      annealed["eta_min"] = plain.eta_min = 0.0003;
      expect_bits(annealed, plain);
    }
  }
}

TEST(DeepCamSchedule, RefusesWhatMakesNoRate) {
  const auto refusal = [](const json& object) {
    return base::thrown_message<base::ConfigError>([&] { parsed_schedule(object); });
  };
  EXPECT_THAT(refusal({{"learning_rate", 0}}), HasSubstr("/learning_rate"));
  EXPECT_THAT(refusal({{"warmup_steps", -1}}), HasSubstr("/warmup_steps"));
  EXPECT_THAT(refusal({{"warmup_factor", 0.5}}), HasSubstr("/warmup_factor"));
  EXPECT_THAT(refusal({{"milestones", {5, 5}}}), HasSubstr("/milestones: must rise"));
  EXPECT_THAT(refusal({{"decay_rate", 2}}), HasSubstr("/decay_rate"));
  EXPECT_THAT(refusal({{"type", "step"}}), HasSubstr("/type"));
  EXPECT_THAT(refusal({{"type", "cosine_annealing"}}), HasSubstr("/t_max"));
  EXPECT_THAT(refusal({{"type", "cosine_annealing"}, {"t_max", 0}}), HasSubstr("/t_max"));
  EXPECT_THAT(refusal({{"type", "cosine_annealing"}, {"t_max", 5}, {"eta_min", -1}}),
              HasSubstr("/eta_min"));
}

}  // namespace
}  // namespace deepcam

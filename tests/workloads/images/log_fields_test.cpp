// Tests of the log keys of classifiers, by optimizer and schedule.
#include "workloads/images/log_fields.h"

#include <gmock/gmock.h>

#include <map>

#include "runner/base/object_reader.h"
#include "workloads/optimizer/optimizer_config.h"

namespace images {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Key;
using testing::Not;
using testing::StartsWith;

std::map<std::string, json> fields_of(const json& optimizer, const json& schedule) {
  const base::ObjectReader optimizer_section(optimizer, "test.json");
  const base::ObjectReader schedule_section(schedule, "test.json");
  std::map<std::string, json> fields;
  for (const auto& [key, value] :
       optimizer_log_fields(nn::make_optimizer(optimizer_section)->hyperparameters(),
                            nn::parse_schedule(schedule_section, 256, 100, 90).config(), 100, 64)) {
    EXPECT_TRUE(fields.emplace(key, json(value)).second) << key << " stands there twice";
  }
  return fields;
}

const json kPolynomial = {{"name", "polynomial"}, {"learning_rate", 2.0},
                          {"warmup_steps", 200},  {"decay_steps", 3000},
                          {"power", 2},           {"end_learning_rate", 0.1}};
const json kDelayed = {{"name", "delayed_polynomial"}, {"learning_rate", 2.0},
                       {"warmup_steps", 200},          {"decay_start_step", 300},
                       {"decay_steps", 3000},          {"power", 3}};

TEST(ResNetLogFields, HaveAKeyOfTheRulesForEachOptimizer) {
  const json momentum = {{"name", "sgd"}, {"momentum", 0.875}, {"weight_decay", 1e-4}};
  EXPECT_EQ(fields_of(momentum, kPolynomial),
            (std::map<std::string, json>{{"opt_name", "sgd"},
                                         {"sgd_opt_base_learning_rate", 2.0},
                                         {"opt_learning_rate_warmup_epochs", 2},
                                         {"sgd_opt_momentum", 0.875},
                                         {"sgd_opt_weight_decay", 1e-4},
                                         {"sgd_opt_end_learning_rate", 0.1},
                                         {"sgd_opt_learning_rate_decay_steps", 3000},
                                         {"sgd_opt_learning_rate_decay_poly_power", 2.0},
                                         {"model_bn_span", 64}}));
  json lars = momentum;
  lars["name"] = "lars";
  const auto fields = fields_of(lars, kPolynomial);
  EXPECT_EQ(fields.at("lars_opt_momentum"), 0.875);
  EXPECT_EQ(fields.at("lars_opt_learning_rate_warmup_epochs"), 2);
  EXPECT_EQ(fields.at("lars_epsilon"), 0.0);
  EXPECT_THAT(fields, Not(Contains(Key(StartsWith("sgd_")))));
}

TEST(ResNetLogFields, SayNothingOfSgdWhereItDoesNotTrain) {
  for (const char* name : {"adagrad", "lamb"}) {
    EXPECT_EQ(fields_of({{"name", name}}, kPolynomial),
              (std::map<std::string, json>{{"opt_name", name},
                                           {"opt_base_learning_rate", 2.0},
                                           {"opt_learning_rate_warmup_epochs", 2},
                                           {"model_bn_span", 64}}));
  }
}

TEST(ResNetLogFields, TellWhereADelayedDecayBeginsAndItsPower) {
  const auto fields = fields_of({{"name", "sgd"}}, kDelayed);
  EXPECT_EQ(fields.at("lr_decay_start_steps"), 300);
  EXPECT_EQ(fields.at("sgd_opt_learning_rate_decay_steps"), 3000);
  EXPECT_EQ(fields.at("sgd_opt_learning_rate_decay_poly_power"), 3.0);
  EXPECT_THAT(fields_of({{"name", "sgd"}}, kPolynomial),
              Not(Contains(Key("lr_decay_start_steps"))));
}

}  // namespace
}  // namespace images

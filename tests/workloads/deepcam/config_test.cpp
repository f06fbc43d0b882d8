// Tests of configurations, their log keys, and the closed division's rules.
#include "workloads/deepcam/config.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/deepcam/log_fields.h"
#include "workloads/deepcam/trainer.h"
#include "workloads/optimizer/optimizer_config.h"

namespace deepcam {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json small_config() {
  return {{"epochs", 10},
          {"dataset", {{"train", "a"}, {"validation", "b"}}},
          {"training", {{"global_batch_size", 8}}}};
}

Config parsed(const json& object) { return parse_config(base::ObjectReader(object, "small.json")); }

std::string refusal(const json& object) {
  return base::thrown_message<base::ConfigError>(
      [&] { check_config(base::ObjectReader(object, "small.json")); });
}

std::map<std::string, json> fields_of(const json& object) {
  const base::ObjectReader reader(object, "small.json");
  std::map<std::string, json> fields;
  for (const auto& [key, value] :
       log_fields(parse_config(reader), make_optimizer(reader)->hyperparameters())) {
    EXPECT_TRUE(fields.emplace(key, json(value)).second) << key << " stands there twice";
  }
  return fields;
}

std::vector<std::string> breaks_of(const json& object) {
  const base::ObjectReader reader(object, "small.json");
  return closed_rule_breaks(parse_config(reader));
}

/// The reference convergence point with a batch of 2,048.
TEST(DeepCamLogFields, AreAllThatTheRulesAskForOfLamb) {
  json object = small_config();
  object["schedule"] = {{"learning_rate", 0.0055}, {"warmup_steps", 400}, {"milestones", {800}}};
  EXPECT_EQ(fields_of(object), (std::map<std::string, json>{{"batchnorm_group_size", 1},
                                                            {"gradient_accumulation_frequency", 1},
                                                            {"opt_name", "LAMB"},
                                                            {"opt_lr", 0.0055},
                                                            {"opt_betas", {0.9, 0.999}},
                                                            {"opt_eps", 1e-6},
                                                            {"opt_weight_decay", 0.01},
                                                            {"scheduler_type", "multistep"},
                                                            {"scheduler_lr_warmup_steps", 400},
                                                            {"scheduler_lr_warmup_factor", 1.0},
                                                            {"opt_bias_correction", true},
                                                            {"opt_grad_averaging", true},
                                                            {"opt_max_grad_norm", 1.0},
                                                            {"scheduler_milestones", {800}},
                                                            {"scheduler_decay_rate", 0.1}}));
}

TEST(DeepCamLogFields, TellOtherRules) {
  json object = small_config();
  object["optimizer"] = {{"name", "adamw"}, {"weight_decay", 0.1}};
  object["schedule"] = {{"type", "cosine_annealing"}, {"t_max", 9000}};
  const auto fields = fields_of(object);
  EXPECT_EQ(fields.at("opt_name"), "AdamW");
  EXPECT_EQ(fields.at("opt_eps"), 1e-6);
  EXPECT_EQ(fields.count("opt_max_grad_norm"), 0U);
  EXPECT_EQ(fields.at("scheduler_type"), "cosine_annealing");
  EXPECT_EQ(fields.at("scheduler_t_max"), 9000);
  EXPECT_EQ(fields.at("scheduler_eta_min"), 0.0);
  object["optimizer"] = {{"name", "adam"}};
  EXPECT_EQ(fields_of(object).at("opt_name"), "Adam");
}

TEST(DeepCamRules, HoldForThePublishedModel) {
  EXPECT_THAT(breaks_of(small_config()), IsEmpty());
  json object = small_config();
  object["model"] = {{"height", 96}, {"widths", {{"aspp", 32}}}};
  EXPECT_THAT(breaks_of(object), ElementsAre("/model/height: must be 768, got 96",
                                             "/model/widths/aspp: must be 256, got 32"));
}

TEST(DeepCamConfig, SharesStatisticsBetweenRanks) {
  json object = small_config();
  EXPECT_EQ(data_parallel_config(parsed(object), 4).bn_group_size, 2);
  object["training"]["bn_group_ranks"] = 2;
  EXPECT_EQ(data_parallel_config(parsed(object), 4).bn_group_size, 4);
  // Three ranks have 3, 3 and 2 samples; they can share statistics among all ranks or not at all.
  object["training"]["bn_group_ranks"] = 3;
  EXPECT_EQ(data_parallel_config(parsed(object), 3).bn_group_size, 8);
  const auto refused = [&](int ranks) {
    return base::thrown_message<base::ConfigError>(
        [&] { data_parallel_config(parsed(object), ranks); });
  };
  EXPECT_THAT(refused(4), HasSubstr("/training/bn_group_ranks: must divide the 4 ranks"));
  object["training"]["bn_group_ranks"] = 1;
  EXPECT_THAT(refused(3), HasSubstr("3 groups of 1 ranks must have equal shares of the 8 samples"));
}

TEST(DeepCamConfig, RefusesWhatCannotBe) {
  EXPECT_NO_THROW(check_config(base::ObjectReader(small_config(), "small.json")));
  const auto with = [](const json& section, const char* name) {
    json object = small_config();
    object[name].update(section);
    return refusal(object);
  };
  EXPECT_THAT(with({{"global_batch_size", 0}}, "training"), HasSubstr("/global_batch_size"));
  EXPECT_THAT(with({{"gradient_accumulation_steps", 3}}, "training"),
              HasSubstr("must divide by 3 gradient accumulation steps"));
  EXPECT_THAT(with({{"precision", "f16"}}, "training"), HasSubstr("/precision"));
  EXPECT_THAT(with({{"recompute", "all"}}, "training"), HasSubstr("/recompute"));
  EXPECT_THAT(with({{"train_samples", 4}}, "dataset"),
              HasSubstr("expected at most the 4 training samples, got 8"));
  json object = small_config();
  object["optimizer"] = {{"name", "sgd"}};
  EXPECT_THAT(refusal(object), HasSubstr("/optimizer/name"));
  object = small_config();
  object["epochs"] = 0;
  EXPECT_THAT(refusal(object), HasSubstr("/epochs"));
}

TEST(DeepCamLoss, WeighsClassesByTheirPublishedShares) {
  EXPECT_NEAR(class_weights()[0], 1.001729912, 1e-9);
  EXPECT_NEAR(class_weights()[1], 2.614611224, 1e-9);
  EXPECT_NEAR(class_weights()[2], 1.716419748, 1e-9);
}

}  // namespace
}  // namespace deepcam

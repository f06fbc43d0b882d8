// Tests of CosmoFlow's log keys against those that the rules require, and of each choice that the
// closed division forbids.
#include "workloads/cosmoflow/log_fields.h"

#include <gmock/gmock.h>

#include <map>

#include "runner/base/object_reader.h"
#include "workloads/optimizer/optimizer_config.h"

namespace cosmoflow {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json small_config() {
  return {{"workload", "cosmoflow"},
          {"epochs", 128},
          {"dataset", {{"train", "a"}, {"validation", "b"}}},
          {"training", {{"global_batch_size", 128}}}};
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

/// The reference convergence point with a batch of 128.
TEST(CosmoFlowLogFields, AreAllThatTheRulesAskFor) {
  json object = small_config();
  object["schedule"] = {{"learning_rate", 0.001},
                        {"peak_learning_rate", 0.004},
                        {"warmup_epochs", 4},
                        {"decay_boundary_epochs", {16, 32}},
                        {"decay_factors", {0.25, 0.125}}};
  object["optimizer"] = {{"weight_decay", 0.01}};
  EXPECT_EQ(fields_of(object),
            (std::map<std::string, json>{{"opt_name", "sgd"},
                                         {"opt_base_learning_rate", 0.004},
                                         {"opt_learning_rate_warmup_epochs", 4},
                                         {"opt_learning_rate_warmup_factor", 4.0},
                                         {"opt_learning_rate_decay_boundary_epochs", {16, 32}},
                                         {"opt_learning_rate_decay_factor", {0.25, 0.125}},
                                         {"dropout", 0.5},
                                         {"opt_weight_decay", 0.01}}));
}

TEST(CosmoFlowLogFields, TellThePeakThatTheBatchGives) {
  json object = small_config();
  object["schedule"] = {{"learning_rate", 0.001}};
  object["model"] = {{"dropout", 0}};
  const auto fields = fields_of(object);
  EXPECT_EQ(fields.at("opt_base_learning_rate"), 0.002);
  EXPECT_EQ(fields.at("opt_learning_rate_warmup_factor"), 2.0);
  EXPECT_EQ(fields.at("opt_learning_rate_warmup_epochs"), 0);
  EXPECT_EQ(fields.at("opt_learning_rate_decay_boundary_epochs"), json::array());
  EXPECT_EQ(fields.at("opt_learning_rate_decay_factor"), json::array());
  EXPECT_EQ(fields.at("dropout"), 0.0);
  EXPECT_EQ(fields.at("opt_weight_decay"), 0.0);
}

std::vector<std::string> breaks_of(const char* pointer, const json& value) {
  json object = small_config();
  object[json::json_pointer(pointer)] = value;
  const base::ObjectReader reader(object, "small.json");
  return closed_rule_breaks(parse_config(reader), make_optimizer(reader)->hyperparameters());
}

TEST(CosmoFlowRuleBreaks, AreNoneWhereTheRulesLeaveAChoice) {
  EXPECT_THAT(breaks_of("/epochs", 1), IsEmpty());
  EXPECT_THAT(breaks_of("/model/dropout", 0), IsEmpty());
  EXPECT_THAT(breaks_of("/optimizer/weight_decay", 0.5), IsEmpty());
  EXPECT_THAT(breaks_of("/training/global_batch_size", 1024), IsEmpty());
  EXPECT_THAT(breaks_of("/training/precision", "bf16"), IsEmpty());
  EXPECT_THAT(breaks_of("/training/sample_split", {{"depth", 4}, {"height", 4}}), IsEmpty());
  EXPECT_THAT(breaks_of("/schedule", {{"warmup_epochs", 2},
                                      {"decay_boundary_epochs", {4, 6}},
                                      {"decay_factors", {0.25, 0.0625}}}),
              IsEmpty());
}

TEST(CosmoFlowRuleBreaks, TellWhatIsNotTheReferences) {
  EXPECT_THAT(breaks_of("/optimizer/momentum", 0.91),
              ElementsAre("/optimizer/momentum: must be 0.9, got 0.91"));
  EXPECT_THAT(breaks_of("/optimizer", {{"form", "torch"}, {"nesterov", true}}),
              ElementsAre("/optimizer/form: must be keras, got torch",
                          "/optimizer/nesterov: must be false, got true"));
  EXPECT_THAT(breaks_of("/optimizer", {{"weight_decay", 0.1}, {"weight_decay_mode", "decoupled"}}),
              ElementsAre("/optimizer/weight_decay_mode: must be keras_l2, got decoupled"));
  EXPECT_THAT(breaks_of("/schedule/decay", "cosine"),
              ElementsAre("/schedule/decay: must be step, got cosine"));
  EXPECT_THAT(breaks_of("/model/size", 64), ElementsAre("/model/size: must be 128, got 64"));
  EXPECT_THAT(breaks_of("/model/redshifts", 1), ElementsAre("/model/redshifts: must be 4, got 1"));
  EXPECT_THAT(breaks_of("/model/channels", {32, 64}),
              ElementsAre("/model/channels: must be [32, 64, 128, 256, 512], got [32, 64]"));
  EXPECT_THAT(breaks_of("/model/dense", {128}),
              ElementsAre("/model/dense: must be [128, 64], got [128]"));
  EXPECT_THAT(breaks_of("/dataset/apply_log", false),
              ElementsAre("/dataset/apply_log: must be true, got false"));
  EXPECT_THAT(breaks_of("/dataset/flips", true),
              ElementsAre("/dataset/flips: must be false, got true"));
  EXPECT_THAT(breaks_of("/dataset/transposes", true),
              ElementsAre("/dataset/transposes: must be false, got true"));
}

}  // namespace
}  // namespace cosmoflow

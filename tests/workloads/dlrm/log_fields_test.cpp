// Tests of the fields that DLRM adds to a log against the keys that the rules require.
#include "workloads/dlrm/log_fields.h"

#include <gmock/gmock.h>

#include <map>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"

namespace dlrm {
namespace {

using nlohmann::json;

std::map<std::string, json> fields_of(const json& optimizer, const json& schedule,
                                      nn::SparseRule rule = nn::SparseRule::kSgd,
                                      double factor = 1.0) {
  parallel::EmbeddingConfig tables;
  tables.rule = rule;
  tables.learning_rate_factor = factor;
  const base::ObjectReader optimizer_section(optimizer, "test.json");
  const base::ObjectReader schedule_section(schedule, "test.json");
  std::map<std::string, json> fields;
  for (const auto& [key, value] :
       optimizer_log_fields(nn::make_optimizer(optimizer_section)->hyperparameters(), tables,
                            nn::parse_schedule(schedule_section, 32768, 128028, 1).config())) {
    EXPECT_TRUE(fields.emplace(key, json(value)).second) << key << " stands there twice";
  }
  return fields;
}

/// The schedule of the published runs with a batch of 32,768.
const json kMlperfSchedule = {{"name", "delayed_polynomial"}, {"learning_rate", 18.0},
                              {"warmup_steps", 8000},         {"decay_start_step", 70000},
                              {"decay_steps", 30000},         {"power", 2}};
const json kSgd = {{"name", "sgd"}, {"momentum", 0}};

TEST(DlrmLogFields, AreAllThatTheRulesAskFor) {
  const auto fields = fields_of(kSgd, kMlperfSchedule);
  EXPECT_EQ(fields, (std::map<std::string, json>{{"opt_name", "sgd"},
                                                 {"opt_base_learning_rate", 18.0},
                                                 {"opt_learning_rate_warmup_steps", 8000},
                                                 {"lr_decay_start_steps", 70000},
                                                 {"sgd_opt_base_learning_rate", 18.0},
                                                 {"sgd_opt_learning_rate_decay_poly_power", 2},
                                                 {"sgd_opt_learning_rate_decay_steps", 30000}}));
  // Some readers of logs want integers.
  EXPECT_EQ(fields.at("sgd_opt_learning_rate_decay_poly_power").dump(), "2");
}

TEST(DlrmLogFields, TellAPowerThatIsNoWholeNumberAsItIs) {
  json schedule = kMlperfSchedule;
  schedule["power"] = 1.5;
  EXPECT_EQ(fields_of(kSgd, schedule).at("sgd_opt_learning_rate_decay_poly_power"), 1.5);
}

TEST(DlrmLogFields, LeaveOutADecayThatIsNotThere) {
  const auto fields = fields_of(kSgd, {{"name", "constant"}, {"learning_rate", 0.5}});
  EXPECT_EQ(fields, (std::map<std::string, json>{{"opt_name", "sgd"},
                                                 {"opt_base_learning_rate", 0.5},
                                                 {"opt_learning_rate_warmup_steps", 0},
                                                 {"sgd_opt_base_learning_rate", 0.5}}));
}

TEST(DlrmLogFields, TellTheRateOfTablesThatHaveTheirOwn) {
  const auto fields = fields_of(kSgd, kMlperfSchedule, nn::SparseRule::kSgd, 0.5);
  EXPECT_EQ(fields.at("opt_base_learning_rate"), 18.0);
  EXPECT_EQ(fields.at("tables_learning_rate"), 9.0);
}

TEST(DlrmLogFields, NameWhatTrainsLayersAndTables) {
  const json adagrad = {{"name", "adagrad"}};
  const auto name = [&](const json& optimizer, nn::SparseRule tables) {
    return fields_of(optimizer, kMlperfSchedule, tables).at("opt_name");
  };
  EXPECT_EQ(name(adagrad, nn::SparseRule::kAdagrad), "adagrad");
  EXPECT_EQ(name(kSgd, nn::SparseRule::kAdagrad), "layers: sgd, tables: adagrad");
  EXPECT_EQ(name(adagrad, nn::SparseRule::kSgd), "layers: adagrad, tables: sgd");
  EXPECT_EQ(name(adagrad, nn::SparseRule::kRowwiseAdagrad),
            "layers: adagrad, tables: rowwise_adagrad");
}

TEST(DlrmLogFields, HaveKeysOfSgdWhereItTrainsAll) {
  const json adagrad = {{"name", "adagrad"}};
  for (const auto& [optimizer, tables] :
       {std::pair(adagrad, nn::SparseRule::kAdagrad), std::pair(kSgd, nn::SparseRule::kAdagrad),
        std::pair(adagrad, nn::SparseRule::kSgd)}) {
    auto fields = fields_of(optimizer, kMlperfSchedule, tables);
    fields.erase("opt_name");
    EXPECT_EQ(fields, (std::map<std::string, json>{{"opt_base_learning_rate", 18.0},
                                                   {"opt_learning_rate_warmup_steps", 8000},
                                                   {"lr_decay_start_steps", 70000}}));
  }
}

}  // namespace
}  // namespace dlrm

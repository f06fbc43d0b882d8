// Tests of a whole DLRM configuration: every number at its extremes, every value of a wrong type,
// and contradictions.
#include "workloads/dlrm/config.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/run_config.h"
#include "workloads/dlrm/taken_extremes.h"
#include "workloads/dlrm/workload.h"

namespace dlrm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json small() {
  return {{"workload", "dlrm"},
          {"epochs", 3},
          {"dataset", {{"train", "a"}, {"test", "b"}, {"train_samples", 100}}},
          {"model",
           {{"dense_features", 5},
            {"embedding_width", 16},
            {"bottom", {24, 16}},
            {"top", {32, 1}},
            {"tables", "50,7,200"}}},
          {"training", {{"global_batch_size", 32}}},
          {"optimizer", {{"name", "sgd"}, {"momentum", 0}}},
          {"schedule", {{"name", "constant"}, {"learning_rate", 0.1}}}};
}

/// The configuration as `trainmark config` would print it.
json resolved(const json& object) {
  const base::ObjectReader reader(object, "small.json");
  runner::parse_run_config(reader, "small.json", kEvaluationsPerEpoch);
  check_config(reader);
  reader.reject_unknown();
  return reader.resolved();
}

Config parsed(const json& object) { return parse_config(base::ObjectReader(object, "small.json")); }

/// Whether the configuration is accepted; any exception but a ConfigError fails the test. Overflows
/// are left to the undefined behaviour sanitizer.
bool is_taken(const json& object, const std::string& change) {
  try {
    resolved(object);
    return true;
  } catch (const base::ConfigError&) {
    return false;
  } catch (const std::exception& e) {
    ADD_FAILURE() << change << ": " << e.what();
    return false;
  }
}

/// The message that refuses the small configuration with one key changed.
std::string refusal(const char* pointer, const json& value) {
  json object = small();
  object[json::json_pointer(pointer)] = value;
  return base::thrown_message<base::ConfigError>([&] { resolved(object); });
}

json every_schedule_and_optimizer() {
  json configs = json::array();
  for (const json& schedule :
       {json{{"name", "constant"}, {"learning_rate", 0.1}}, json{{"name", "delayed_polynomial"},
                                                                 {"learning_rate", 0.1},
                                                                 {"warmup_steps", 2},
                                                                 {"decay_start_step", 4},
                                                                 {"decay_steps", 4}}}) {
    json config = small();
    config["schedule"] = schedule;
    configs.push_back(resolved(config));
  }
  json adagrad = small();
  adagrad["optimizer"] = {{"name", "adagrad"}};
  adagrad["embeddings"] = {{"optimizer", "adagrad"}};
  configs.push_back(resolved(adagrad));
  return configs;
}

/// Accepted extreme values of each number in the resolved configurations, by JSON pointer.
std::map<std::string, std::set<std::string>> taken_extremes() {
  const std::vector<json> extremes = {0,
                                      1,
                                      -1,
                                      65537,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::uint64_t>::max(),
                                      1e-308,
                                      1e308,
                                      1.5,
                                      -0.5};
  std::map<std::string, std::set<std::string>> taken;
  for (const json& config : every_schedule_and_optimizer()) {
    const json leaves = config.flatten();
    for (const auto& [path, value] : leaves.items()) {
      if (!value.is_number()) continue;
      std::set<std::string>& here = taken[path];
      for (const json& extreme : extremes) {
        json changed = config;
        changed[json::json_pointer(path)] = extreme;
        if (is_taken(changed, path + " = " + extreme.dump())) here.insert(extreme.dump());
      }
    }
  }
  return taken;
}

TEST(DlrmConfig, TakesOrRefusesEveryNumberAtItsExtremes) {
  std::string all;
  for (const auto& [path, taken] : taken_extremes()) {
    all += path + ":";
    for (const std::string& one : taken) all += " " + one;
    all += "\n";
  }
  EXPECT_EQ("\n" + all, kTakenExtremes);
}

TEST(DlrmConfig, RefusesNamesThatItDoesNotKnow) {
  for (const char* pointer :
       {"/embeddings/storage", "/embeddings/optimizer", "/embeddings/update",
        "/embeddings/alltoall", "/embeddings/payload", "/dataset/shuffle", "/staging/mode",
        "/training/precision", "/optimizer/name", "/schedule/name"}) {
    const std::string message = refusal(pointer, "none such");
    EXPECT_THAT(message,
                AllOf(HasSubstr(std::string("small.json: ") + pointer), HasSubstr("none such")))
        << pointer;
  }
}

TEST(DlrmConfig, RefusesEveryValueOfAnotherType) {
  const json config = resolved(small());
  const json leaves = config.flatten();
  for (const auto& [path, value] : leaves.items()) {
    for (const json& other : {json(nullptr), json::object(), json::array({1}), json("none such"),
                              json(true), json(1.5)}) {
      // Another value of the same type may be valid.
      if (other.type() == value.type() || (value.is_number() && other.is_number())) continue;
      json changed = config;
      changed[json::json_pointer(path)] = other;
      EXPECT_FALSE(is_taken(changed, path)) << path << " = " << other;
    }
  }
}

TEST(DlrmConfig, RefusesEveryMisspeltKey) {
  const json config = resolved(small());
  for (const auto& [section, value] : config.items()) {
    json changed = config;
    changed[section + "x"] = value;
    EXPECT_FALSE(is_taken(changed, section)) << section;
    if (!value.is_object()) continue;
    for (const auto& [key, inner] : value.items()) {
      changed = config;
      changed[section][key + "x"] = inner;
      EXPECT_FALSE(is_taken(changed, key)) << section << "/" << key;
    }
  }
}

TEST(DlrmConfig, HasNoCacheOfSamples) {
  EXPECT_THAT(refusal("/cache/memory_bytes", 1), HasSubstr("small.json: /cache"));
}

TEST(DlrmConfig, IsTheBenchmarksWhereNothingIsSaid) {
  json object = small();
  for (const char* section : {"model", "optimizer"}) object.erase(section);
  const json all = resolved(object);
  EXPECT_EQ(all["evaluation"],
            (json{{"every_epochs", 1}, {"offset_epochs", 0}, {"per_epoch", 20}}));
  EXPECT_EQ(all["optimizer"]["name"], "sgd");
  EXPECT_EQ(all["optimizer"]["momentum"], 0.0);
  EXPECT_EQ(all["optimizer"]["weight_decay"], 0.0);
  const Config config = parsed(object);
  EXPECT_EQ(config.model.parameter_count(), 24'036'595'969);
  EXPECT_EQ(config.data.format.record_bytes(), 160);
  EXPECT_EQ(config.data.shuffle, Shuffle::kBatches);
  EXPECT_EQ(config.arithmetic.precision, nn::Precision::kF32);
  EXPECT_EQ(config.embeddings.update, std::nullopt);
  EXPECT_EQ(config.embeddings.rule, nn::SparseRule::kSgd);
  EXPECT_EQ(config.embeddings.memory_limit_bytes, 0);
  EXPECT_EQ(config.data.test_samples, 0);
}

TEST(DlrmConfig, EvaluatesWhenItIsToldTo) {
  json object = small();
  object["evaluation"]["every_epochs"] = 2;
  EXPECT_EQ(resolved(object)["evaluation"]["per_epoch"], 1);
  object["evaluation"] = {{"per_epoch", 3}};
  EXPECT_EQ(resolved(object)["evaluation"]["per_epoch"], 3);
}

TEST(DlrmConfig, WantsLastLayersThatFit) {
  EXPECT_THAT(refusal("/model/bottom", {24, 8}),
              HasSubstr("small.json: /model/bottom: the last layer must have the 16 outputs of an "
                        "embedding, got 8"));
  EXPECT_THAT(refusal("/model/top", {24, 2}),
              HasSubstr("/model/top: the last layer must have 1 output, got 2"));
  EXPECT_THAT(refusal("/model/bottom", json::array()),
              HasSubstr("/model/bottom: expected at least one layer"));
  EXPECT_THAT(refusal("/model/top", {0, 1}),
              HasSubstr("/model/top: expected layers of 1 to 65536"));
}

TEST(DlrmConfig, KnowsTablesByText) {
  for (const char* text :
       {"", "criteos", "capped:", "capped:0", "3,,5", "3,x", "3,-1", "3,5,", "3,2147483648",
        "9223372036854775807", "99999999999999999999", "capped:2147483648"}) {
    EXPECT_THAT(refusal("/model/tables", text),
                AllOf(HasSubstr("/model/tables: expected criteo, small, capped:ROWS, or sizes"),
                      HasSubstr("got '" + std::string(text) + "'")));
  }
  json object = small();
  object["model"]["tables"] = "capped:100";
  EXPECT_EQ(parsed(object).model.tables.size(), 26U);
  EXPECT_EQ(parsed(object).data.format.tables, 26);
  EXPECT_THAT(refusal("/model/tables", "3000000000,3"), HasSubstr("of 1 to 2147483647 rows"));
  EXPECT_EQ(parsed(json::parse(R"({"epochs": 1, "model": {"tables": "2147483647"},
      "dataset": {"train": "a", "test": "b"}, "training": {"global_batch_size": 1}})"))
                .model.tables,
            std::vector<std::int64_t>{2147483647});
}

TEST(DlrmConfig, RefusesUpdatesThatDoNotGoWithTheRule) {
  for (const char* rule : {"adagrad", "rowwise_adagrad"}) {
    for (const char* update : {"locked", "atomic", "race_free"}) {
      EXPECT_THAT(refusal("/embeddings", {{"optimizer", rule}, {"update", update}}),
                  AllOf(HasSubstr(rule), HasSubstr("needs the sum of a row's gradients"),
                        HasSubstr(std::string("got ") + update)));
    }
  }
  EXPECT_THAT(refusal("/embeddings", {{"storage", "split_bf16"}, {"update", "atomic"}}),
              HasSubstr("the atomic update needs the storage f32, got split_bf16"));
  json object = small();
  object["embeddings"] = {{"optimizer", "rowwise_adagrad"}, {"update", "reference"},
                          {"storage", "split_bf16"},        {"payload", "bf16"},
                          {"alltoall", "scatter_list"},     {"epsilon", 1e-6}};
  const parallel::EmbeddingConfig embeddings = parsed(object).embeddings;
  EXPECT_EQ(embeddings.rule, nn::SparseRule::kRowwiseAdagrad);
  EXPECT_EQ(embeddings.update, nn::TableUpdate::kReference);
  EXPECT_EQ(embeddings.storage, nn::TableStorage::kSplitBf16);
  EXPECT_EQ(embeddings.payload, nn::Precision::kBf16);
  EXPECT_EQ(embeddings.alltoall, parallel::AlltoallVariant::kScatterList);
  EXPECT_EQ(embeddings.epsilon, 1e-6);
}

TEST(DlrmConfig, TakesNumbersThatMeanSomething) {
  const auto limit = [](double gib) { return refusal("/embeddings/memory_limit_gib", gib); };
  for (const double gib : {1e308, 1e-12, -1.0, 0x1p32}) {
    EXPECT_THAT(limit(gib), HasSubstr("/embeddings/memory_limit_gib: must be 0, or from 1 byte"))
        << gib;
  }
  for (const double gib : {0.0, 1e-9, 0x1p31}) {
    json object = small();
    object["embeddings"]["memory_limit_gib"] = gib;
    EXPECT_TRUE(is_taken(object, "memory_limit_gib")) << gib;
  }
  for (const char* key : {"/embeddings/epsilon", "/optimizer/epsilon"}) {
    for (const double epsilon : {0.0, 1e-39, 1e-308, 1e39, -1.0}) {
      json object = small();
      object["optimizer"] = {{"name", "adagrad"}};
      object[json::json_pointer(key)] = epsilon;
      EXPECT_FALSE(is_taken(object, key)) << key << " = " << epsilon;
    }
    json object = small();
    object["optimizer"] = {{"name", "adagrad"}};
    object[json::json_pointer(key)] = 1.2e-38;
    EXPECT_TRUE(is_taken(object, key)) << key;
  }
}

/// A memory limit of 12,000 bytes, less than one table: 200 rows of 16 floats are 12,800 bytes.
json limited() {
  json object = small();
  object["embeddings"]["memory_limit_gib"] = 12'000.0 / std::pow(1024.0, 3);
  return object;
}

TEST(DlrmConfig, TakesALimitThatSeveralRanksStayBelow) {
  json object = limited();
  object["model"]["tables"] = "50,7,180";
  EXPECT_EQ(parsed(object).embeddings.memory_limit_bytes, 12'000);
  EXPECT_TRUE(is_taken(object, "memory_limit_gib"));
}

runner::MemoryNeeds needs_on(const json& object, int ranks, int rank = 0) {
  const base::ObjectReader reader(object, "small.json");
  return memory_needs(runner::parse_run_config(reader, "small.json"),
                      {.rank = rank, .ranks = ranks, .node_ranks = ranks});
}

TEST(DlrmConfig, SaysWhichTableFitsNowhere) {
  EXPECT_THAT(
      base::thrown_message<base::ConfigError>([] { needs_on(limited(), 2); }),
      AllOf(HasSubstr("table \"emb_l.2.weight\" [200, 16]: 16 of its columns (12800 bytes) fit on "
                      "none of 2 ranks of 12000 bytes each"),
            HasSubstr("lacks 800 bytes")));
  json object = limited();
  object["model"]["tables"] = "50,7,180";
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { needs_on(object, 1); }),
              AllOf(HasSubstr("emb_l."), HasSubstr("lacks 2720 bytes")));
  // 11,520 bytes on one rank, 3,648 on the other.
  EXPECT_EQ(needs_on(object, 2, 0).rank.at("embedding tables") +
                needs_on(object, 2, 1).rank.at("embedding tables"),
            237 * 16 * 4);
}

TEST(DlrmConfig, CutsATableThatIsWideEnough) {
  json object = limited();
  object["model"]["embedding_width"] = 32;
  object["model"]["bottom"] = {24, 32};
  object["embeddings"]["memory_limit_gib"] = 20'000.0 / std::pow(1024.0, 3);
  EXPECT_EQ(needs_on(object, 2, 0).rank.at("embedding tables") +
                needs_on(object, 2, 1).rank.at("embedding tables"),
            257 * 32 * 4);
  // State per row covers all columns of the row, so the table cannot be split.
  object["embeddings"]["optimizer"] = "rowwise_adagrad";
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { needs_on(object, 2); }),
              HasSubstr("table \"emb_l.2.weight\" [200, 32]: 32 of its columns"));
}

TEST(DlrmConfig, RefusesTheirCounterpartsInTraining) {
  EXPECT_THAT(refusal("/training/precision", "f16"), HasSubstr("/training/precision"));
  EXPECT_THAT(refusal("/training/global_batch_size", 0), HasSubstr("/training/global_batch_size"));
  EXPECT_THAT(refusal("/dataset/train", ""), HasSubstr("/dataset/train"));
  EXPECT_THAT(refusal("/dataset/max_ind_range", -1), HasSubstr("/dataset/max_ind_range"));
  EXPECT_THAT(refusal("/schedule", {{"name", "delayed_polynomial"},
                                    {"learning_rate", 0.1},
                                    {"warmup_steps", 5},
                                    {"decay_start_step", 4},
                                    {"decay_steps", 4}}),
              HasSubstr("/schedule/decay_start_step"));
}

}  // namespace
}  // namespace dlrm

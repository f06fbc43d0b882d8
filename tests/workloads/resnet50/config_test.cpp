// Tests of a whole ResNet-50 configuration: every number at its extremes, every value of another
// type.
#include "workloads/resnet50/config.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/run_config.h"
#include "workloads/resnet50/workload.h"

namespace resnet50 {
namespace {

using nlohmann::json;

json small() {
  return {{"workload", "resnet50"},
          {"epochs", 3},
          {"dataset", {{"train", "a"}, {"validation", "b"}, {"train_samples", 100}}},
          {"training", {{"global_batch_size", 32}}},
          {"optimizer", {{"name", "sgd"}}},
          {"schedule", {{"name", "constant"}, {"learning_rate", 0.1}}}};
}

/// The configuration as `trainmark config` prints it.
json resolved(const json& object) {
  const base::ObjectReader reader(object, "small.json");
  runner::parse_run_config(reader, "small.json");
  check_config(reader);
  reader.reject_unknown();
  return reader.resolved();
}

/// Whether the configuration is accepted; any error but ConfigError fails the test. Overflows on
/// the way are left to the undefined behaviour sanitizer.
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

json every_schedule_and_optimizer() {
  json configs = json::array();
  for (const json& schedule :
       {json{{"name", "constant"}, {"learning_rate", 0.1}},
        json{{"name", "cosine"}, {"learning_rate", 0.1}, {"warmup_epochs", 1}},
        json{{"name", "one_cycle"}, {"learning_rate", 0.1}}}) {
    json config = small();
    config["schedule"] = schedule;
    configs.push_back(resolved(config));
  }
  json lars = small();
  lars["optimizer"] = {{"name", "lars"}};
  configs.push_back(resolved(lars));
  return configs;
}

TEST(Resnet50Config, TakesOrRefusesEveryNumberAtItsExtremes) {
  const std::vector<json> extremes = {0,
                                      1,
                                      -1,
                                      65537,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::uint64_t>::max(),
                                      1e-308,
                                      1e308,
                                      -0.5};
  int taken = 0, tried = 0;
  for (const json& config : every_schedule_and_optimizer()) {
    const json leaves = config.flatten();
    for (const auto& [path, value] : leaves.items()) {
      if (!value.is_number()) continue;
      for (const json& extreme : extremes) {
        json changed = config;
        changed[json::json_pointer(path)] = extreme;
        taken += is_taken(changed, path + " = " + extreme.dump()) ? 1 : 0;
        ++tried;
      }
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, tried / 2);
}

TEST(Resnet50Config, RefusesEveryValueOfAnotherType) {
  const json config = resolved(small());
  const json leaves = config.flatten();
  for (const auto& [path, value] : leaves.items()) {
    for (const json& other : {json(nullptr), json::object(), json::array({1}), json("none such"),
                              json(true), json(1.5)}) {
      // A string accepts any string, and a number any number.
      if (other.type() == value.type() || (value.is_number() && other.is_number())) continue;
      json changed = config;
      changed[json::json_pointer(path)] = other;
      EXPECT_FALSE(is_taken(changed, path)) << path << " = " << other;
    }
  }
}

TEST(Resnet50Config, RefusesEveryMisspeltKey) {
  const json config = resolved(small());
  const json leaves = config.flatten();
  for (const auto& [path, value] : leaves.items()) {
    json changed = config;
    changed[json::json_pointer(path + "x")] = value;
    EXPECT_FALSE(is_taken(changed, path)) << path;
  }
}

TEST(Config, NamesThePrecisionAndTheLayersThatKeepSinglePrecision) {
  json config = small();
  config["training"]["precision"] = "bf16";
  config["training"]["f32_layers"] = {"conv1", "layer1.0.conv2"};
  const Config parsed = parse_config(base::ObjectReader(config, "small.json"));
  EXPECT_EQ(parsed.images.training.arithmetic.precision, nn::Precision::kBf16);
  EXPECT_EQ(parsed.images.training.arithmetic.f32_layers.size(), 2u);
  config["training"]["precision"] = "f32";
  EXPECT_FALSE(is_taken(config, "f32_layers in f32"));
  config["training"] = {{"global_batch_size", 32}, {"precision", "f16"}};
  EXPECT_FALSE(is_taken(config, "f16"));
  EXPECT_EQ(resolved(small())["training"]["precision"], "f32");
  EXPECT_EQ(resolved(small())["training"]["winograd_gradients"], true);
  config = small();
  config["training"]["winograd_gradients"] = false;
  EXPECT_FALSE(parse_config(base::ObjectReader(config, "small.json"))
                   .images.training.arithmetic.winograd_gradients);
}

TEST(Resnet50Config, ScalesDecodingOnlyOfCrops) {
  json object = small();
  EXPECT_EQ(resolved(object)["dataset"]["scaled_decoding"], false);
  object["dataset"]["scaled_decoding"] = true;
  EXPECT_EQ(resolved(object)["dataset"]["scaled_decoding"], true);
  object["dataset"]["preprocess"] = "cifar";
  EXPECT_FALSE(is_taken(object, "scaled_decoding with whole images"));
}

TEST(Resnet50Config, KeepsDecodedImagesOfTheirFullSize) {
  json object = small();
  EXPECT_EQ(resolved(object)["dataset"]["cache_bytes"], 0);
  const auto needs = [&] {
    const base::ObjectReader reader(object, "small.json");
    return memory_needs(runner::parse_run_config(reader, "small.json"),
                        {.rank = 0, .ranks = 2, .node_ranks = 2});
  };
  EXPECT_EQ(needs().rank.count("decoded samples"), 0U);
  object["dataset"]["cache_bytes"] = 12'345;
  EXPECT_EQ(resolved(object)["dataset"]["cache_bytes"], 12'345);
  EXPECT_EQ(needs().rank.at("decoded samples"), 12'345);
  object["dataset"]["scaled_decoding"] = true;
  EXPECT_EQ(base::thrown_message<base::ConfigError>([&] { resolved(object); }),
            "small.json: /dataset/scaled_decoding: cache_bytes keeps images at their full size; "
            "leave one of both out");
}

TEST(Resnet50Config, PlansTheMemoryOfWhatTravelsBetweenNodes) {
  const auto needs = [](const json& training, int ranks) {
    json object = small();
    object["training"].update(training);
    const base::ObjectReader reader(object, "small.json");
    return memory_needs(runner::parse_run_config(reader, "small.json"),
                        {.rank = 0, .ranks = ranks, .node_ranks = 1});
  };
  const char* const kSums = "sums between nodes";
  const char* const kRest = "gradients that were left out";
  const char* const kToFiles = "optimizer state on its way to files";
  const runner::MemoryNeeds alone = needs({{"divided_update", true}}, 1);
  const std::int64_t gradients = alone.rank.at("gradients"),
                     state = alone.node.at("optimizer state");
  for (const char* part : {kSums, kRest, kToFiles}) EXPECT_EQ(alone.rank.count(part), 0U) << part;
  EXPECT_EQ(needs(json::object(), 4).rank.at(kSums), gradients * 3 / 4) << "of a part, the others'";
  EXPECT_EQ(needs(json::object(), 2).rank.at(kSums), gradients / 2);
  const runner::MemoryNeeds bytes = needs({{"gradient_payload", "int8"}}, 4);
  EXPECT_NEAR(static_cast<double>(bytes.rank.at(kSums)),
              2 * 0.75 * 260.0 / 1024 * static_cast<double>(gradients), 1000.0);
  EXPECT_EQ(bytes.rank.at(kRest), gradients);
  EXPECT_EQ(needs({{"gradient_payload", "int8"}, {"error_feedback", false}}, 4).rank.count(kRest),
            0U);
  const runner::MemoryNeeds divided = needs({{"divided_update", true}}, 4);
  EXPECT_EQ(divided.node.at("optimizer state"), state / 4);
  EXPECT_LE(divided.rank.at(kSums), gradients);
  EXPECT_GE(divided.rank.at(kToFiles), state / 4) << "a share of the whole state";
}

TEST(Resnet50Config, KnowsWhatIsMadeAgain) {
  json config = small();
  const auto recompute = [&] {
    return parse_config(base::ObjectReader(config, "small.json")).images.training.recompute;
  };
  EXPECT_EQ(recompute(), nn::Recompute::kNormalizations);
  for (const nn::Recompute one : nn::kAllRecompute) {
    config["training"]["recompute"] = nn::to_string(one);
    EXPECT_EQ(recompute(), one);
  }
  config["training"]["recompute"] = "stages";
  EXPECT_FALSE(is_taken(config, "an unknown extent"));
}

}  // namespace
}  // namespace resnet50

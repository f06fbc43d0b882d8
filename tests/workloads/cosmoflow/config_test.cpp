// Tests of a whole CosmoFlow configuration: defaults, every number at its extremes, every value of
// another type, and contradictions.
#include "workloads/cosmoflow/config.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/run_config.h"
#include "workloads/cosmoflow/parsed_config.h"

namespace cosmoflow {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json small() {
  return {{"workload", "cosmoflow"},
          {"epochs", 3},
          {"dataset", {{"train", "a"}, {"validation", "b"}, {"train_samples", 100}}},
          {"model", {{"size", 16}, {"channels", {16, 32}}, {"dense", {24, 8}}}},
          {"training", {{"global_batch_size", 32}}}};
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

/// The message for the small configuration with one key changed.
std::string refusal(const char* pointer, const json& value) {
  json object = small();
  object[json::json_pointer(pointer)] = value;
  return base::thrown_message<base::ConfigError>([&] { resolved(object); });
}

json every_schedule() {
  json configs = json::array();
  for (const char* decay : {"step", "polynomial", "cosine", "htd"}) {
    json config = small();
    config["schedule"] = {{"decay", decay}, {"peak_learning_rate", 0.01}, {"warmup_epochs", 1}};
    if (decay == std::string("step")) {
      config["schedule"]["decay_boundary_epochs"] = {1, 2};
      config["schedule"]["decay_factors"] = {0.5, 0.25};
    }
    configs.push_back(resolved(config));
  }
  return configs;
}

/// Whether the path is in one of the workload's own sections.
bool is_own(const std::string& path) {
  const auto is_below = [&](const char* section) { return path.starts_with(section); };
  constexpr const char* kSections[] = {"/dataset/", "/model/", "/optimizer/", "/schedule/",
                                       "/training/"};
  return std::any_of(std::begin(kSections), std::end(kSections), is_below);
}

/// The accepted extremes of each number of the resolved configurations, by path.
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
  for (const json& config : every_schedule()) {
    const json leaves = config.flatten();
    for (const auto& [path, value] : leaves.items()) {
      if (!value.is_number() || !is_own(path)) continue;
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

/// The expected accepted extremes of the workload's own numbers, in text order.
constexpr char kTakenExtremes[] = R"(
/dataset/cache_bytes: 0 1 65537
/dataset/decode_threads: 0 1
/dataset/prefetch_batches: 1
/dataset/shards: 1 65537 9223372036854775807
/dataset/train_samples: 0 65537 9223372036854775807
/dataset/validation_samples: 0 1 65537 9223372036854775807
/model/channels/0:
/model/channels/1:
/model/dense/0: 1
/model/dense/1: 1
/model/dropout: 0 1e-308
/model/redshifts: 1
/model/size:
/optimizer/momentum: 0 1e-308
/optimizer/weight_decay: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/decay_boundary_epochs/0: 1
/schedule/decay_boundary_epochs/1: 65537
/schedule/decay_epochs: 65537
/schedule/decay_factors/0: 1e-308
/schedule/decay_factors/1: 1e-308
/schedule/end_factor: 0 1 1e-308
/schedule/learning_rate: 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/peak_learning_rate: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/power: 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/reference_batch: 1 65537 9223372036854775807
/schedule/warmup_epochs: 0 1 65537
/training/global_batch_size: 1
/training/gradient_accumulation_steps: 1
/training/gradient_density: 1
/training/gradient_piece_kib: 0
/training/memory_limit_gib: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/training/sample_split/depth: 1
/training/sample_split/height: 1
)";

TEST(CosmoFlowConfig, TakesOrRefusesEveryNumberAtItsExtremes) {
  std::string all;
  for (const auto& [path, taken] : taken_extremes()) {
    all += path + ":";
    for (const std::string& one : taken) all += " " + one;
    all += "\n";
  }
  EXPECT_EQ("\n" + all, kTakenExtremes);
}

TEST(CosmoFlowConfig, RefusesEveryValueOfAnotherType) {
  const json config = resolved(small());
  const json leaves = config.flatten();
  for (const auto& [path, value] : leaves.items()) {
    if (value.is_null()) continue;  // an empty list, which flatten() shows as null
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

TEST(CosmoFlowConfig, RefusesNamesThatItDoesNotKnow) {
  for (const char* pointer : {"/staging/mode", "/training/precision", "/optimizer/name",
                              "/schedule/decay", "/schedule/scaling"}) {
    EXPECT_THAT(refusal(pointer, "none such"),
                AllOf(HasSubstr(std::string("small.json: ") + pointer), HasSubstr("none such")))
        << pointer;
  }
}

TEST(CosmoFlowConfig, RefusesEveryMisspeltKey) {
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
  EXPECT_THAT(refusal("/training/sample_split", {{"width", 2}}),
              HasSubstr("/training/sample_split/width"));
}

TEST(CosmoFlowConfig, CanBeReadAgainAsResolved) {
  for (const json& config : every_schedule()) EXPECT_EQ(resolved(config), config);
}

TEST(CosmoFlowConfig, IsTheBenchmarksWhereNothingIsSaid) {
  json object = small();
  object.erase("model");
  const json all = resolved(object);
  EXPECT_EQ(all["optimizer"]["name"], "sgd");
  EXPECT_EQ(all["optimizer"]["momentum"], 0.9);
  EXPECT_EQ(all["optimizer"]["form"], "keras");
  EXPECT_EQ(all["optimizer"]["weight_decay_mode"], "keras_l2");
  EXPECT_EQ(all["optimizer"]["weight_decay"], 0.0);
  const Config config = parsed(object);
  EXPECT_EQ(config.model.size, 128);
  EXPECT_THAT(config.model.channels, ElementsAre(32, 64, 128, 256, 512));
  EXPECT_TRUE(config.data.apply_log);
  EXPECT_FALSE(config.data.flips);
  EXPECT_FALSE(config.data.transposes);
  EXPECT_EQ(config.data.shards, 1);
  EXPECT_EQ(config.data.cache_bytes, 0);
  EXPECT_EQ(config.gradient_accumulation_steps, 1);
  EXPECT_EQ(config.arithmetic.precision, nn::Precision::kF32);
  EXPECT_EQ(config.split.parts(), 1);
  EXPECT_FALSE(config.chooses_split);
  EXPECT_EQ(config.memory_limit_gib, 0.0);
  EXPECT_FALSE(config.data.counts_known());
  EXPECT_DOUBLE_EQ(config.schedule.peak, 0.0005);  // half the reference's batch
}

TEST(CosmoFlowConfig, KnowsCountsWhereBothAreGiven) {
  json object = small();
  object["dataset"]["validation_samples"] = 7;
  EXPECT_TRUE(parsed(object).data.counts_known());
}

TEST(CosmoFlowConfig, WantsWhatHasNoDefault) {
  for (const char* pointer :
       {"/epochs", "/dataset/train", "/dataset/validation", "/training/global_batch_size"}) {
    json object = small().flatten();
    object.erase(pointer);
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { resolved(object.unflatten()); }),
                HasSubstr(std::string("small.json: ") + pointer));
  }
  EXPECT_THAT(refusal("/dataset/train", ""), HasSubstr("/dataset/train"));
}

TEST(CosmoFlowConfig, RefusesWhatContradictsItself) {
  EXPECT_THAT(refusal("/training/gradient_accumulation_steps", 5),
              HasSubstr("small.json: /training/global_batch_size: must divide by 5 gradient "
                        "accumulation steps, got 32"));
  EXPECT_THAT(refusal("/training/global_batch_size", 101),
              HasSubstr("/training/global_batch_size: expected at most the 100 training samples, "
                        "got 101"));
  EXPECT_THAT(refusal("/training/sample_split", {{"depth", 3}}),
              HasSubstr("small.json: /training/sample_split: parts of a sample of 16 must be whole "
                        "pairs of voxels, got 3 x 1 parts"));
  EXPECT_THAT(refusal("/training/sample_split", {{"depth", 2}, {"height", 16}}),
              HasSubstr("got 2 x 16 parts"));
  EXPECT_THAT(refusal("/training/sample_split", {{"auto", true}, {"height", 2}}),
              HasSubstr("/training/sample_split/auto: stands beside depth and height; give one"));
  EXPECT_THAT(refusal("/training/memory_limit_gib", -1), HasSubstr("/training/memory_limit_gib"));
  json object = small();
  object["training"]["precision"] = "bf16";
  object["model"]["redshifts"] = 3;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { resolved(object); }),
              HasSubstr("/training/precision: bf16 takes an even number of /model/redshifts"));
  object = small();
  object["training"]["sample_split"] = {{"depth", 2}};
  object["dataset"]["apply_log"] = false;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { resolved(object); }),
              HasSubstr("/training/sample_split: needs /dataset/apply_log"));
}

}  // namespace
}  // namespace cosmoflow

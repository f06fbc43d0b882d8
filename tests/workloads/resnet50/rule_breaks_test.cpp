// Tests of each choice that the closed division of ResNet-50 forbids.
#include "workloads/resnet50/rule_breaks.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "workloads/optimizer/optimizer_config.h"

namespace resnet50 {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json small_config() {
  return {{"workload", "resnet50"},
          {"epochs", 4},
          {"dataset", {{"train", "a"}, {"validation", "b"}}},
          {"training", {{"global_batch_size", 32}}}};
}

std::vector<std::string> breaks_of(const char* pointer, const json& value) {
  json object = small_config();
  object[json::json_pointer(pointer)] = value;
  const base::ObjectReader reader(object, "small.json");
  const base::ObjectReader section = reader.object("optimizer", "");
  Training training{nn::make_optimizer(section)->hyperparameters(), std::nullopt, {}};
  if (training.optimizer.name == "lars") training.lars = nn::parse_lars(section);
  training.schedule.decay.shape = nn::DecayShape::kPolynomial;
  return closed_rule_breaks(parse_config(reader), training);
}

TEST(ResNet50RuleBreaks, AreNoneWhereTheRulesLeaveAChoice) {
  EXPECT_THAT(breaks_of("/epochs", 8), IsEmpty());
  EXPECT_THAT(breaks_of("/training/label_smoothing", 0.1), IsEmpty());
  EXPECT_THAT(breaks_of("/training/bn_group_samples", 16), IsEmpty());
  EXPECT_THAT(breaks_of("/optimizer", {{"name", "lars"}, {"momentum", 0.94}}), IsEmpty());
  EXPECT_THAT(breaks_of("/optimizer", {{"name", "sgd"}, {"weight_decay_mode", "keras_l2"}}),
              IsEmpty());
}

TEST(ResNet50RuleBreaks, TellWhatIsNotTheReferences) {
  EXPECT_THAT(breaks_of("/model/version", "v1"),
              ElementsAre("/model/version: must be v1.5, got v1"));
  EXPECT_THAT(breaks_of("/model/depth", 101), ElementsAre("/model/depth: must be 50, got 101"));
  EXPECT_THAT(breaks_of("/model/width", 32), ElementsAre("/model/width: must be 64, got 32"));
  EXPECT_THAT(breaks_of("/model/image_size", 128),
              ElementsAre("/model/image_size: must be 224, got 128"));
  EXPECT_THAT(breaks_of("/model/classes", 10), ElementsAre("/model/classes: must be 1000, got 10"));
  EXPECT_THAT(breaks_of("/dataset/preprocess", "torchvision"),
              ElementsAre("/dataset/preprocess: must be mlperf, got torchvision"));
  EXPECT_THAT(breaks_of("/dataset/scaled_decoding", true),
              ElementsAre("/dataset/scaled_decoding: must be false, got true"));
  EXPECT_THAT(breaks_of("/training/label_smoothing", 0.2),
              ElementsAre("/training/label_smoothing: must be 0 or 0.1, got 0.2"));
}

TEST(ResNet50RuleBreaks, TellOptimizersThatTheReferenceLacks) {
  EXPECT_THAT(breaks_of("/optimizer", {{"name", "sgd"}, {"nesterov", true}}),
              ElementsAre("/optimizer/nesterov: must be false, got true"));
  EXPECT_THAT(breaks_of("/optimizer", {{"name", "sgd"}, {"weight_decay_mode", "decoupled"}}),
              ElementsAre("/optimizer/weight_decay_mode: must be l2 or keras_l2, got decoupled"));
  EXPECT_THAT(breaks_of("/optimizer", {{"name", "lars"},
                                       {"nesterov", true},
                                       {"eta", 0.01},
                                       {"variant", "unscaled"},
                                       {"scope", "all"}}),
              ElementsAre("/optimizer/nesterov: must be false, got true",
                          "/optimizer/eta: must be 0.001, got 0.01",
                          "/optimizer/scope: must be weights, got all",
                          "/optimizer/variant: must be scaled, got unscaled"));
  Training early;
  early.schedule.decay.shape = nn::DecayShape::kPolynomial;
  early.schedule.warmup.length = 5;
  const base::ObjectReader any(small_config(), "small.json");
  EXPECT_THAT(closed_rule_breaks(parse_config(any), early),
              ElementsAre("/schedule/decay_from_start: must be false, got true"));
  early.schedule.decay.begin = 5;
  EXPECT_THAT(closed_rule_breaks(parse_config(any), early), testing::IsEmpty());
  Training training;
  training.schedule.decay.shape = nn::DecayShape::kDelayedPolynomial;
  const base::ObjectReader reader(small_config(), "small.json");
  EXPECT_THAT(closed_rule_breaks(parse_config(reader), training),
              ElementsAre("/schedule/name: must be polynomial, got delayed_polynomial"));
}

}  // namespace
}  // namespace resnet50

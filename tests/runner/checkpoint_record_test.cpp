// Tests of a checkpoint's record of its run, and of the comparison of configurations.
#include "runner/checkpoint_record.h"

#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::HasSubstr;

CheckpointRecord example() {
  CheckpointRecord record;
  record.position = {3, 7, 47, 0.1 + 0.2, 84, 1e-9, {{1, 1.0 / 3.0, 2.5}, {2, 0.7, 1e300}}};
  record.config = {{"seed", 18446744073709551615ULL}, {"workload", "toy"}};
  record.data = {{"train_samples", 40}};
  record.environment = {{"ranks", 2}};
  return record;
}

TEST(CheckpointRecord, ComesBackWithTheSameBits) {
  const CheckpointRecord all = example(), back = parse_record(to_text(all), "a.h5");
  EXPECT_EQ(back.position.epoch_num, 3);
  EXPECT_EQ(back.position.steps_in_epoch, 7);
  EXPECT_EQ(back.position.steps_done, 47);
  EXPECT_EQ(back.position.loss_sum, 0.1 + 0.2);
  EXPECT_EQ(back.position.samples, 84);
  EXPECT_EQ(back.position.elapsed_s, 1e-9);
  ASSERT_EQ(back.position.evaluations.size(), 2U);
  EXPECT_EQ(back.position.evaluations[0].quality, 1.0 / 3.0);
  EXPECT_EQ(back.position.evaluations[1].since_run_start_s, 1e300);
  EXPECT_EQ(back.config, all.config);
  EXPECT_EQ(back.data, all.data);
  EXPECT_EQ(back.environment, all.environment);
}

TEST(CheckpointRecord, RefusesWhatIsNone) {
  const auto refused = [](const json& record) {
    return base::thrown_message<base::DataError>([&] { parse_record(record.dump(), "a.h5"); });
  };
  EXPECT_THAT(base::thrown_message<base::DataError>([] { parse_record("{", "a.h5"); }),
              HasSubstr("a.h5"));
  EXPECT_THAT(refused(json::array()), HasSubstr("a.h5: /position: expected an object"));
  json record = json::parse(to_text(example()));
  record["position"]["steps_done"] = -1;
  EXPECT_THAT(refused(record), HasSubstr("/steps_done: must be"));
  record["position"]["steps_done"] = 47.5;
  EXPECT_THAT(refused(record), HasSubstr("/steps_done: must be"));
  record["position"].erase("steps_done");
  EXPECT_THAT(refused(record), HasSubstr("/steps_done: is required"));
  record["position"]["steps_done"] = 47;
  record["position"]["evaluation_qualities"].push_back(0.5);
  EXPECT_THAT(refused(record), HasSubstr("expected as many qualities and times as the 2"));
  record = json::parse(to_text(example()));
  record.erase("config");
  EXPECT_THAT(refused(record), HasSubstr("a.h5: /config: expected an object, found nothing"));
}

TEST(ConfigDifference, NamesTheFirstKeyThatDiffers) {
  const json then = {{"a", 1}, {"b", {{"c", 2.5}, {"d", {1, 2}}}}};
  EXPECT_FALSE(config_difference(then, then, {}));
  json now = then;
  now["b"]["c"] = 2.25;
  const auto difference = config_difference(then, now, {});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->key, "/b/c");
  EXPECT_EQ(difference->then, "2.5");
  EXPECT_EQ(difference->found, "2.25");
  now = then;
  now["b"]["d"] = {1, 3};
  EXPECT_EQ(config_difference(then, now, {})->key, "/b/d");
  now = then;
  now["b"].erase("d");
  EXPECT_EQ(config_difference(then, now, {})->found, "nothing");
  EXPECT_EQ(config_difference(now, then, {})->then, "nothing");
}

TEST(ConfigDifference, PassesOverKeysWithoutEffectAndAllBelowThem) {
  const json then = {{"a", 1}, {"b", {{"c", 2}, {"d", 3}}}}, now = {{"a", 2}, {"b", {{"c", 2}}}};
  EXPECT_EQ(config_difference(then, now, {"/a"})->key, "/b/d");
  EXPECT_FALSE(config_difference(then, now, {"/a", "/b/d"}));
  EXPECT_FALSE(config_difference(then, now, {"/a", "/b"}));
}

}  // namespace
}  // namespace runner

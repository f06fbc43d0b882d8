// Tests of configuration keys under their old names.
#include "runner/renamed_keys.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RenamedKeys, AreTakenUnderTheirOldNamesWithAWarning) {
  json config = {{"training", {{"global_batch_size", 8}, {"bn_group_size", 4}}}};
  EXPECT_THAT(rename_old_keys(config, "a.json"),
              ElementsAre("a.json: /training/bn_group_size: is called bn_group_samples now; the "
                          "next release will not take the old name"));
  EXPECT_EQ(config, (json{{"training", {{"global_batch_size", 8}, {"bn_group_samples", 4}}}}));
  config = {{"training", {{"batchnorm_group_size", 2}}}};
  EXPECT_THAT(rename_old_keys(config, "a.json"),
              ElementsAre("a.json: /training/batchnorm_group_size: is called bn_group_ranks now; "
                          "the next release will not take the old name"));
  EXPECT_EQ(config, (json{{"training", {{"bn_group_ranks", 2}}}}));
}

TEST(RenamedKeys, NameModesOfStaging) {
  for (const auto& [before, now] : {std::pair("none", "stream"), std::pair("node", "shard")}) {
    json config = {{"staging", {{"mode", before}, {"directory", "near"}}}};
    EXPECT_THAT(rename_old_keys(config, "a.json"),
                ElementsAre(std::string("a.json: /staging/mode: ") + before + " is called " + now +
                            " now; the next release will not take the old name"));
    EXPECT_EQ(config, (json{{"staging", {{"mode", now}, {"directory", "near"}}}}));
  }
}

TEST(RenamedKeys, LeaveConfigurationsOfTodayAsTheyAre) {
  for (const json& today :
       {json{{"training", {{"bn_group_samples", 4}}}}, json{{"workload", "toy"}},
        json{{"bn_group_size", 4}}, json{{"training", "none"}}, json{{"training", {1, 2}}},
        json{{"staging", "none"}}, json{{"staging", {{"mode", "full"}}}},
        json{{"staging", {{"mode", 3}}}}, json{{"staging", {{"directory", "none"}}}}}) {
    json config = today;
    EXPECT_THAT(rename_old_keys(config, "a.json"), IsEmpty());
    EXPECT_EQ(config, today);
  }
}

TEST(RenamedKeys, AreRefusedUnderBothNames) {
  json config = {{"training", {{"bn_group_samples", 4}, {"bn_group_size", 4}}}};
  EXPECT_EQ(base::thrown_message<base::ConfigError>([&] { rename_old_keys(config, "a.json"); }),
            "a.json: /training/bn_group_size: stands beside bn_group_samples, its new name; give "
            "one of them");
}

}  // namespace
}  // namespace runner

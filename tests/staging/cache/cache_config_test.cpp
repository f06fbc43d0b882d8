// Tests of the "cache" section.
#include "staging/cache/cache_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace cache {
namespace {

using json = nlohmann::json;

CacheConfig parsed(const json& section) {
  const base::ObjectReader root(section, "a.json");
  const CacheConfig config = parse_cache(root);
  root.reject_unknown();
  return config;
}

TEST(CacheConfig, KeepsNothingUnlessAsked) {
  const CacheConfig config = parsed(json::object());
  EXPECT_FALSE(config.keeps());
  EXPECT_EQ(config.policy, Policy::kNextUse);
  EXPECT_EQ(config.peers, Peering::kAsk);
}

TEST(CacheConfig, ReadsEveryKey) {
  const CacheConfig config =
      parsed({{"memory_bytes", 5}, {"disk_bytes", 7}, {"policy", "lru"}, {"peers", false}});
  EXPECT_EQ(config.memory_bytes, 5);
  EXPECT_EQ(config.disk_bytes, 7);
  EXPECT_EQ(config.policy, Policy::kLru);
  EXPECT_EQ(config.peers, Peering::kIgnore);
  EXPECT_TRUE(config.keeps());
  EXPECT_TRUE(parsed({{"disk_bytes", 1}}).keeps());
  EXPECT_FALSE(parsed({{"disk_bytes", 1}, {"policy", "none"}}).keeps());
}

TEST(CacheConfig, RefusesWhatItDoesNotKnow) {
  for (const json& section :
       {json{{"memory_bytes", -1}}, json{{"disk_bytes", 1e30}}, json{{"policy", "fifo"}},
        json{{"peers", 1}}, json{{"memory_byte", 1}}}) {
    EXPECT_THROW(parsed(section), base::ConfigError) << section;
  }
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] {
                parsed({{"policy", "nextuse"}});
              }),
              testing::HasSubstr("next_use"));
}

}  // namespace
}  // namespace cache

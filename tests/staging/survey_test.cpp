// Tests of adding up what nodes need, and of rates that a configuration gives.
#include "staging/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/storage_rates.h"

namespace staging {
namespace {

NodeNeeds node(std::int64_t needed, std::int64_t missing, std::int64_t lack, std::int64_t room) {
  NodeNeeds needs;
  needs.needed = needed;
  needs.copied = 3 * needed;
  needs.samples = needed / 10;
  needs.missing = needs.to_write = missing;
  needs.lack = lack;
  needs.room = room;
  return needs;
}

TEST(SizesOfNodes, AddUpClassesThatLackTheSame) {
  const Sizes sizes = sizes_of(
      {node(100, 80, 7, 1000), node(100, 80, 7, 1000), node(60, 60, 8, 1000), node(90, 0, 9, 0)},
      {"a", "b", "c", "d"});
  EXPECT_EQ(sizes.nodes, 4);
  EXPECT_EQ(sizes.sample_bytes, 10.0);
  EXPECT_EQ(sizes.growth, 3.0);
  EXPECT_EQ(sizes.needed, 100);
  EXPECT_EQ(sizes.missing, 80);
  EXPECT_EQ(sizes.missing_of_all, 220);
  EXPECT_EQ(sizes.missing_once, 140);
  EXPECT_EQ(sizes.class_nodes, 2);
  EXPECT_EQ(sizes.too_small, "");
}

TEST(SizesOfNodes, NameTheNodeThatLacksMostRoom) {
  std::vector<NodeNeeds> nodes = {node(100, 80, 7, 79), node(5000, 4096, 8, 2048),
                                  node(100, 80, 7, 80)};
  EXPECT_EQ(sizes_of(nodes, {"a", "b", "c"}).too_small,
            "node 1 (b): 4.0 KiB are needed, 2.0 KiB are free");
  nodes[1].is_in_memory = true;
  EXPECT_EQ(sizes_of(nodes, {"a", "b", "c"}).too_small,
            "node 1 (b): 4.0 KiB are needed, 2.0 KiB are free in memory (tmpfs)");
}

GivenRates given(const nlohmann::json& section) {
  const base::ObjectReader reader(section, "a.json");
  const GivenRates rates = parse_rates(reader);
  reader.reject_unknown();
  return rates;
}

TEST(GivenRates, AreMeasuredUnlessGiven) {
  const GivenRates none = given(nlohmann::json::object());
  EXPECT_FALSE(none.rates);
  EXPECT_FALSE(none.cache_bytes);
  EXPECT_FALSE(none.epoch_compute_s);
  const GivenRates all = given({{"source", 1e9},
                                {"local_write", 2e9},
                                {"local_read", 3e9},
                                {"cache_bytes", 0},
                                {"epoch_compute_s", 7.5}});
  ASSERT_TRUE(all.rates);
  EXPECT_EQ(all.rates->source, 1e9);
  EXPECT_EQ(all.rates->local_write, 2e9);
  EXPECT_EQ(all.rates->local_read, 3e9);
  EXPECT_EQ(all.rates->network, 0.0);
  EXPECT_EQ(all.cache_bytes, 0);
  EXPECT_EQ(all.epoch_compute_s, 7.5);
}

TEST(GivenRates, AreRefusedWithoutThoseThatAnyChoiceNeeds) {
  EXPECT_EQ(base::thrown_message<base::ConfigError>([] {
              given({{"source", 1e9}, {"local_write", 2e9}});
            }),
            "a.json: /local_read: must be positive where other rates are given, got 0");
  EXPECT_EQ(base::thrown_message<base::ConfigError>([] {
              given({{"network", 1e9}});
            }),
            "a.json: /source: must be positive where other rates are given, got 0");
  EXPECT_THROW(given({{"source", -1.0}}), base::ConfigError);
}

}  // namespace
}  // namespace staging

// What tuning tries, on machines that hwloc makes from a description, and what it picks.
#include "runner/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/base/error.h"
#include "runner/synthetic_machine.h"

namespace runner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CpuConfig ranks(std::int64_t count) {
  CpuConfig cpus;
  cpus.ranks_per_node = count;
  return cpus;
}

std::vector<std::int64_t> ranks_on(const char* description, std::int64_t batch) {
  const TopologyHandle topology = synthetic_machine(description);
  std::vector<std::int64_t> all;
  for (const CpuConfig& one : sensible_ranks(topology.get(), all_cpus(topology), batch)) {
    all.push_back(one.ranks_per_node);
  }
  return all;
}

TEST(SensibleRanks, AreOneAndTwoOfEachSocketAndNumaNode) {
  EXPECT_THAT(ranks_on(kTwoXeons, 256), ElementsAre(1, 2, 4));
  EXPECT_THAT(ranks_on(kEightXeons, 256), ElementsAre(1, 8, 16));
  EXPECT_THAT(ranks_on(kTwoEpycs, 256), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(ranks_on(kA64fx, 256), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(ranks_on("core:2 pu:1", 32), ElementsAre(1, 2));
  EXPECT_THAT(ranks_on("core:1 pu:1", 32), ElementsAre(1));
}

TEST(SensibleRanks, DivideTheBatch) {
  EXPECT_THAT(ranks_on(kTwoXeons, 6), ElementsAre(1, 2));
  EXPECT_THAT(ranks_on(kTwoXeons, 1), ElementsAre(1));
}

/// One value for each: hardware threads (true: all), spare cores.
std::vector<std::pair<bool, std::int64_t>> cpus_of(const char* description, int count) {
  const TopologyHandle topology = synthetic_machine(description);
  std::vector<std::pair<bool, std::int64_t>> all;
  for (const CpuConfig& one : sensible_variants(topology.get(), all_cpus(topology), ranks(count))) {
    all.emplace_back(one.all_hardware_threads, one.spare_cores);
  }
  return all;
}

TEST(SensibleVariants, AreOneThreadACoreAndASpareCoreWhereThereAreSome) {
  using One = std::pair<bool, std::int64_t>;
  EXPECT_THAT(cpus_of(kTwoXeons, 2), ElementsAre(One(true, 0), One(true, 1)));
  EXPECT_THAT(cpus_of(kTwoXeonsSmt, 2),
              ElementsAre(One(true, 0), One(false, 0), One(true, 1), One(false, 1)));
  EXPECT_THAT(cpus_of(kTwoXeonsSmt, 28), ElementsAre(One(true, 0), One(false, 0)));
  EXPECT_THAT(cpus_of("core:2 pu:1", 1), ElementsAre(One(true, 0)));
}

TEST(Trials, GoInTurnsAndLeaveOutWhatFailed) {
  const std::vector<CpuConfig> all = {ranks(1), ranks(2), ranks(4)};
  std::vector<int> order, rounds;
  const auto tried = try_in_turns(all, 3, [&](const CpuConfig& cpus, int round) {
    rounds.push_back(round);
    const int count = static_cast<int>(cpus.ranks_per_node);
    order.push_back(count);
    if (count == 2 && order.size() > 3) return Trial{0.0, 0, "no memory"};
    return Trial{static_cast<double>(100 * count) + static_cast<double>(order.size()), 7, ""};
  });
  EXPECT_THAT(order, ElementsAre(1, 2, 4, 1, 2, 4, 1, 4));
  EXPECT_THAT(rounds, ElementsAre(1, 1, 1, 2, 2, 2, 3, 3));
  EXPECT_EQ(tried[0].median(), 104.0);
  EXPECT_EQ(tried[0].threads, 7);
  EXPECT_EQ(tried[1].failure, "no memory");
  EXPECT_EQ(tried[1].median(), 0.0);
  EXPECT_EQ(&best_of(tried), &tried[2]);
}

TEST(Trials, PreferTheFirstOfThoseThatAreAlike) {
  const std::vector<Tried> tried = {
      {ranks(1), {95.0}, 4, ""}, {ranks(2), {99.5}, 2, ""}, {ranks(4), {100.0}, 1, ""}};
  EXPECT_EQ(best_of(tried).cpus.ranks_per_node, 2);
}

TEST(Trials, ThatAllFailedAreAnError) {
  try {
    best_of({{ranks(1), {}, 0, "no memory"}});
    FAIL() << "not refused";
  } catch (const base::SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no bench succeeded: no memory"));
  }
}

TEST(TunedConfiguration, KeepsItsOtherKeysInTheirOrder) {
  CpuConfig cpus = ranks(2);
  cpus.spare_cores = 1;
  const std::string text = with_cpus(
      R"({"workload": "dlrm", "threads": 3, "cpus": {"bind": false}, "epochs": 1})", cpus);
  const auto config = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("workload", "cpus", "epochs"));
  EXPECT_EQ(nlohmann::json(config["cpus"]), to_json(cpus));
}

TEST(TunedConfiguration, IsRefusedIfItWouldLoseComments) {
  const auto message = [](const char* text) -> std::string {
    try {
      rewritable(text, "a.json");
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("{\"epochs\": 1}  // all"), HasSubstr("would lose its comments"));
  EXPECT_THAT(message("[1]"), HasSubstr("a.json: expected an object"));
}

}  // namespace
}  // namespace runner

// Plans of CPUs on machines that hwloc makes from a description.
#include "runner/cpu_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"
#include "runner/synthetic_machine.h"

namespace runner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The CPUs of each rank.
std::vector<std::string> ranges(const TopologyHandle& topology, const std::vector<int>& usable,
                                int ranks) {
  std::vector<std::string> texts;
  for (const RankCpus& rank : plan_cpus(topology.get(), usable, ranks, {}).ranks) {
    texts.push_back(base::cpu_ranges(rank.cpus));
  }
  return texts;
}

std::vector<std::string> ranges(const char* description, int ranks) {
  const TopologyHandle topology = synthetic_machine(description);
  return ranges(topology, all_cpus(topology), ranks);
}

TEST(CpuPlan, GivesRanksSocketsAndPartsOfThem) {
  EXPECT_THAT(ranges(kTwoXeons, 1), ElementsAre("0-55"));
  EXPECT_THAT(ranges(kTwoXeons, 2), ElementsAre("0-27", "28-55"));
  EXPECT_THAT(ranges(kTwoXeons, 4), ElementsAre("0-13", "14-27", "28-41", "42-55"));
  EXPECT_THAT(ranges(kEightXeons, 4), ElementsAre("0-55", "56-111", "112-167", "168-223"));
  EXPECT_EQ(ranges(kEightXeons, 16)[3], "42-55");
}

TEST(CpuPlan, KeepsRanksWithinNumaNodesAndSharedCaches) {
  EXPECT_THAT(ranges(kA64fx, 4), ElementsAre("0-11", "12-23", "24-35", "36-47"));
  EXPECT_THAT(ranges(kTwoEpycs, 8), ElementsAre("0-15", "16-31", "32-47", "48-63", "64-79", "80-95",
                                                "96-111", "112-127"));
  EXPECT_EQ(ranges(kTwoEpycs, 16)[15], "120-127");
  // Three on a shared cache of 8 cores: two each.
  EXPECT_THAT(ranges("package:1 [numa] l3:2 core:8 pu:1", 6),
              ElementsAre("0-1", "2-3", "5-6", "8-9", "10-11", "13-14"));
}

/// Three ranks on two sockets: on neighbouring cores, the same number for each.
TEST(CpuPlan, DividesEvenlyWhatFitsNoSocket) {
  const TopologyHandle topology = synthetic_machine(kTwoXeons);
  const CpuPlan plan = plan_cpus(topology.get(), all_cpus(topology), 3, {});
  ASSERT_EQ(plan.ranks.size(), 3U);
  for (const RankCpus& rank : plan.ranks) EXPECT_EQ(rank.cores, 18);
  EXPECT_EQ(plan.idle_cores, 2);
  EXPECT_THAT(
      faults_of(topology.get(), {plan.ranks[0].cpus, plan.ranks[1].cpus, plan.ranks[2].cpus}),
      ElementsAre("rank 1 of the node has the CPUs 18-35, of the NUMA nodes 0, 1: one "
                  "would hold them"));
}

/// Hardware threads of a core are numbered apart, as Linux does.
TEST(CpuPlan, GivesWholeCoresWithTheirHardwareThreads) {
  const TopologyHandle topology =
      synthetic_machine("package:2 [numa] core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  const CpuPlan plan = plan_cpus(topology.get(), all_cpus(topology), 2, {});
  EXPECT_EQ(base::cpu_ranges(plan.ranks[0].cpus), "0-1,4-5");
  EXPECT_EQ(plan.ranks[0].threads, 4);
  EXPECT_EQ(plan.ranks[0].cores, 2);
  CpuConfig one;
  one.all_hardware_threads = false;
  const CpuPlan single = plan_cpus(topology.get(), all_cpus(topology), 2, one);
  EXPECT_EQ(single.ranks[1].cpus, plan.ranks[1].cpus);
  EXPECT_EQ(single.ranks[1].threads, 2);
}

TEST(CpuPlan, SparesCoresOfEachRank) {
  const TopologyHandle topology = synthetic_machine(kTwoXeonsSmt);
  CpuConfig config;
  config.spare_cores = 2;
  const CpuPlan plan = plan_cpus(topology.get(), all_cpus(topology), 4, config);
  EXPECT_EQ(plan.ranks[2].cores, 14);
  EXPECT_EQ(plan.ranks[2].cpus.size(), 28U);
  EXPECT_EQ(plan.ranks[2].threads, 24);
  config.all_hardware_threads = false;
  EXPECT_EQ(plan_cpus(topology.get(), all_cpus(topology), 4, config).ranks[2].threads, 12);
}

TEST(CpuPlan, RefusesToSpareEveryCore) {
  const TopologyHandle topology = synthetic_machine(kA64fx);
  CpuConfig config;
  config.spare_cores = 12;
  const std::vector<int> cpus = all_cpus(topology);
  const auto message = [&](int ranks) -> std::string {
    try {
      plan_cpus(topology.get(), cpus, ranks, config);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(2), "");
  EXPECT_THAT(message(4), HasSubstr("cpus.spare_cores: a rank of this node has 12 cores"));
  EXPECT_THAT(message(49), HasSubstr("49 ranks of this node share 48 cores"));
}

TEST(CpuPlan, LeavesMoreRanksThanCoresAsTheyAre) {
  EXPECT_THAT(ranges("core:2 pu:1", 3), IsEmpty());
  EXPECT_THAT(ranges("core:2 pu:1", 2), ElementsAre("0", "1"));
}

/// A scheduler gave the job 12 CPUs of one socket and 4 of the other.
TEST(CpuPlan, DividesWhatTheJobMayUse) {
  const TopologyHandle topology = synthetic_machine(kTwoXeons);
  std::vector<int> usable(12);
  std::iota(usable.begin(), usable.end(), 16);
  for (const int cpu : {28, 29, 30, 31}) usable.push_back(cpu);
  EXPECT_THAT(ranges(topology, usable, 2), ElementsAre("16-23", "24-31"));
}

/// Every machine, every number of ranks: parts of one size, each CPU once, all from the machine.
TEST(CpuPlan, NeverGivesACpuTwice) {
  for (const char* description : {kTwoXeons, kTwoXeonsSmt, kTwoEpycs, kA64fx}) {
    const TopologyHandle topology = synthetic_machine(description);
    const std::vector<int> cpus = all_cpus(topology);
    const int cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
    for (int ranks = 1; ranks <= cores; ++ranks) {
      const CpuPlan plan = plan_cpus(topology.get(), cpus, ranks, {});
      ASSERT_EQ(static_cast<int>(plan.ranks.size()), ranks);
      std::set<int> seen;
      std::size_t given = 0;
      for (const RankCpus& rank : plan.ranks) {
        EXPECT_EQ(rank.cores, plan.ranks.front().cores) << description << ' ' << ranks;
        seen.insert(rank.cpus.begin(), rank.cpus.end());
        given += rank.cpus.size();
      }
      EXPECT_EQ(seen.size(), given) << description << ' ' << ranks;
      EXPECT_EQ(ranks * plan.ranks.front().cores + plan.idle_cores, cores);
      EXPECT_LT(*seen.rbegin(), static_cast<int>(cpus.size()));
    }
  }
}

TEST(CpuFaults, TellCpusThatRanksHaveInCommonUnlessAllAre) {
  const TopologyHandle topology = synthetic_machine(kTwoXeons);
  EXPECT_THAT(faults_of(topology.get(), {{0, 1}, {1, 2}}),
              ElementsAre("the CPUs of ranks 0 and 1 of the node overlap: both have 1"));
  EXPECT_THAT(faults_of(topology.get(), {{0, 1}, {0, 1}}), IsEmpty());
  EXPECT_THAT(faults_of(topology.get(), {{0, 1}, {2, 3}}), IsEmpty());
}

TEST(CpuFaults, TellTheFirstOfAKind) {
  const TopologyHandle topology = synthetic_machine(kTwoXeons);
  EXPECT_THAT(faults_of(topology.get(), {{26, 27, 28, 29}, {24, 27, 28, 30}, {27, 28}}),
              ElementsAre("the CPUs of ranks 0 and 1 of the node overlap: both have 27-28",
                          HasSubstr("rank 0 of the node has the CPUs 26-29")));
}

TEST(CpuFaults, TellRanksOnPartsOfNumaNodes) {
  const TopologyHandle topology = synthetic_machine(kTwoXeons);
  EXPECT_THAT(faults_of(topology.get(), {{26, 27, 28, 29}}),
              ElementsAre(HasSubstr("the CPUs 26-29, of the NUMA nodes 0, 1")));
  std::vector<int> all(56);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(faults_of(topology.get(), {all}), IsEmpty());
}

}  // namespace
}  // namespace runner

// Messages, rates and verdicts that need several ranks.
#include "runner/doctor/cluster.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "find_finding.h"
#include "runner/agreed_error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "runner/doctor/rates.h"

namespace doctor {
namespace {

using Launcher = LaunchFacts::Launcher;

const runner::Communicator& world() {
  static const runner::Communicator all = runner::Communicator::world();
  return all;
}

/// A topology in which each rank is a node of its own.
runner::Topology as_nodes() {
  runner::Topology topology{world().split(world().rank(), 0), world().rank(), world().size(), {}};
  for (int rank = 0; rank < world().size(); ++rank) topology.node_of_rank.push_back(rank);
  return topology;
}

TEST(Network, HasALinkFromEachNodeToTheNext) {
  const runner::Topology topology = as_nodes();
  const NetworkTimes times = measure_network(world(), topology, std::int64_t{1} << 20);
  const auto nodes = static_cast<std::size_t>(world().size());
  if (world().rank() == 0) {
    ASSERT_EQ(times.links.size(), nodes == 1 ? 0U : nodes == 2 ? 1U : nodes);
    for (std::size_t left = 0; left < times.links.size(); ++left) {
      EXPECT_EQ(times.links[left].left, static_cast<int>(left));
      EXPECT_EQ(times.links[left].right, static_cast<int>((left + 1) % nodes));
      EXPECT_GT(times.links[left].bytes_per_s, 0.0);
      EXPECT_GT(times.links[left].latency_s, 0.0);
    }
    EXPECT_EQ(times.rings.empty(), nodes == 1);
  }
  EXPECT_EQ(times.sums.empty(), nodes == 1);
  for (const Collective& sum : times.sums) {
    EXPECT_TRUE(sum.is_exact) << sum.bytes;
    EXPECT_GT(sum.seconds, 0.0);
  }
}

TEST(Network, OfRanksOnOneNodeHasNoLinks) {
  const runner::Topology topology = runner::discover_topology(world());
  EXPECT_TRUE(measure_network(world(), topology, 0).links.empty());
}

TEST(CalendarOffsets, OfOneMachineAreSmall) {
  const auto offsets = calendar_offsets_s(world(), as_nodes());
  ASSERT_EQ(offsets.size(), static_cast<std::size_t>(world().size()));
  for (const double offset : offsets) EXPECT_LT(std::abs(offset), 0.5);
}

TEST(NodeRates, AreThoseOfAllRanks) {
  const NodeRates rates = measure_node(world(), 1, std::int64_t{256} << 20);
  EXPECT_GT(rates.memory_bytes_per_s, 1e7);
  EXPECT_GT(rates.compute_flops_per_s, 1e7);
  EXPECT_LE(rates.triad_bytes, std::int64_t{64} << 20) << "a quarter of the memory";
}

#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit
rlim_t address_space_bytes() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

TEST(NodeRates, AreNotKnownWhereThreadsAreRefused) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  // The last rank has room for a few stacks; all ranks learn that it was not enough.
  if (world().rank() == world().size() - 1) {
    const rlimit little{address_space_bytes() + (rlim_t{256} << 20), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  }
  const int threads = world().rank() == world().size() - 1 ? 1000 : 1;
  EXPECT_THAT(base::thrown_message<runner::AgreedError>(
                  [&] { measure_node(world(), threads, std::int64_t{256} << 20); }),
              testing::StartsWith("with 1000 threads: cannot start threads: "));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(measure_node(world(), 1, std::int64_t{64} << 20).memory_bytes_per_s, 0.0);
}
#endif

TEST(SharedFolder, IsSeenByAllNodesAndLeftEmpty) {
  const base::TemporaryDirectory mine;
  const std::string folder = world().broadcast(mine.path().string(), 0);
  Hosts hosts;
  for (int rank = 0; rank < world().size(); ++rank) hosts.push_back("n" + std::to_string(rank));
  const Findings findings = check_shared(world(), hosts, folder + "/results");
  if (world().rank() == 0) {
    EXPECT_EQ(findings.size(), hosts.size() - 1);
    for (const Finding& finding : findings) EXPECT_EQ(finding.verdict, Verdict::kOk);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  world().barrier();
}

runner::ThreadPlan plan(std::int64_t threads, std::int64_t cpus) {
  runner::ThreadPlan plan;
  plan.node_threads = threads;
  plan.node_cpus = cpus;
  return plan;
}

TEST(Placement, ThatUsesEachCpuOnceIsFine) {
  for (const Finding& finding : judge_placement(plan(8, 8), 2, 8, Launcher::kWithPmi)) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.id;
  }
}

TEST(Placement, ThatLeavesCpusIdleSaysHowToUseThem) {
  const Findings bound = judge_placement(plan(1, 1), 1, 8, Launcher::kWithPmi);
  EXPECT_EQ(found(bound, "launch.cpus").verdict, Verdict::kWarning);
  EXPECT_THAT(found(bound, "launch.cpus").remedy, testing::HasSubstr("PE=8"));
  EXPECT_EQ(found(judge_placement(plan(1, 1), 1, 8, Launcher::kNone), "launch.cpus").verdict,
            Verdict::kNote);
  const Findings few = judge_placement(plan(2, 8), 2, 8, Launcher::kWithPmi);
  EXPECT_EQ(found(few, "launch.threads").verdict, Verdict::kNote);
  EXPECT_THAT(found(few, "launch.threads").remedy, testing::HasSubstr("OMP_NUM_THREADS=4"));
}

TEST(Placement, OfTooManyThreadsSaysHowMany) {
  EXPECT_EQ(found(judge_placement(plan(1, 1), 1, 1, Launcher::kNone), "launch.threads").measured,
            "1 thread of 1 rank on 1 CPU");
  const Findings many = judge_placement(plan(16, 8), 2, 8, Launcher::kWithPmi);
  EXPECT_EQ(found(many, "launch.threads").verdict, Verdict::kWarning);
  EXPECT_THAT(found(many, "launch.threads").remedy, testing::HasSubstr("OMP_NUM_THREADS=4"));
  const Findings ranks = judge_placement(plan(16, 8), 16, 8, Launcher::kWithPmi);
  EXPECT_THAT(found(ranks, "launch.threads").remedy, testing::HasSubstr("at most 8 ranks"));
}

}  // namespace
}  // namespace doctor

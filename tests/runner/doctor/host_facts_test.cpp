// Facts from made-up trees of /proc and /sys, and from this machine.
#include "runner/doctor/host_facts.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/temporary_directory.h"

namespace doctor {
namespace {

using testing::Contains;
using testing::Field;

TEST(HostFacts, AreReadFromProcAndSys) {
  const base::TemporaryDirectory root;
  root.write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu avx2 avx512f amx_tile\n");
  root.write("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable:   1024 kB\n");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.write("sys/devices/system/cpu/smt/active", "1\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  root.write("sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  root.write("proc/sys/vm/drop_caches", "0\n");
  const HostFacts facts = read_host(root.path());
  EXPECT_THAT(facts.cpu_flags, Contains("amx_tile"));
  EXPECT_EQ(facts.memory_available, 1024 * 1024);
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.smt, true);
  EXPECT_EQ(facts.huge_pages, "never");
  EXPECT_EQ(facts.clock_source, "hpet");
  EXPECT_TRUE(facts.has_infiniband);
  EXPECT_TRUE(facts.can_drop_caches);
  EXPECT_EQ(facts.shm_free, std::nullopt);
}

TEST(HostFacts, ThatAreHiddenAreUnknown) {
  const base::TemporaryDirectory root;
  const HostFacts facts = read_host(root.path());
  EXPECT_EQ(facts.governor, "");
  EXPECT_EQ(facts.smt, std::nullopt);
  EXPECT_EQ(facts.memory_available, std::nullopt);
  EXPECT_FALSE(facts.has_infiniband);
  EXPECT_FALSE(facts.can_drop_caches);
}

TEST(HostFacts, OfThisMachineAreThere) {
  const HostFacts facts = read_host("/");
  EXPECT_NE(facts.host, "");
  EXPECT_GT(facts.memory_available.value_or(0), 0);
  EXPECT_GE(facts.online_cpus, 1);
  EXPECT_GT(facts.clock_read_ns, 0.0);
}

TEST(HostFacts, TellLimitsOfThisProcess) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_CORE, &lower), 0);
  EXPECT_EQ(read_host("/").limits.core, 0);
  ::setrlimit(RLIMIT_CORE, &before);
}

/// A child that computes, or sleeps, until it is killed.
pid_t start_child(bool busy) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  volatile std::int64_t turns = 0;
  for (;;) {
    if (!busy) ::pause();
    turns = turns + 1;
  }
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(BusyProcesses, AreThoseOutsideOfTheJob) {
  const pid_t busy = start_child(true), sleeping = start_child(false);
  const auto is_busy = Contains(Field(&BusyProcess::process, busy));
  // If many other processes compute, this one may get less than a tenth of a CPU in half a second.
  std::vector<BusyProcess> seen;
  for (int i = 0; i < 20 && !testing::Matches(is_busy)(seen); ++i) {
    seen = busy_processes("/", 0.5, sleeping);
  }
  EXPECT_THAT(seen, is_busy);
  EXPECT_THAT(busy_processes("/", 0.5, ::getpid()), testing::Not(is_busy)) << "below its root";
  end(busy);
  end(sleeping);
}

TEST(BusyProcesses, AreNoneWhereProcIsHidden) {
  const base::TemporaryDirectory root;
  EXPECT_THAT(busy_processes(root.path(), 0.0, ::getpid()), testing::IsEmpty());
}

}  // namespace
}  // namespace doctor

// System facts from made-up trees of /proc, /sys and cgroups, and from this machine.
#include "runner/base/system_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/base/cgroup.h"
#include "runner/base/environment_facts.h"
#include "runner/base/error.h"
#include "runner/base/machine_files.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "runner/base/usable_cpus.h"

namespace base {
namespace {

using Json = nlohmann::json;

constexpr char kMountV2[] =
    "25 20 0:22 / /sys rw shared:7 - sysfs sysfs rw\n"
    "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
constexpr char kMountV1[] =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

TEST(CgroupLimits, AreAbsentWhereNothingCanBeRead) {
  const TemporaryDirectory root;
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_FALSE(limits.cpus);
  EXPECT_FALSE(limits.memory_bytes);
}

TEST(CgroupLimits, TakeTheTightestOfTheGroupsAboveInV2) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "0::/batch/job/step\n");
  root.write("proc/self/mountinfo", kMountV2);
  root.write("sys/fs/cgroup/batch/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/batch/job/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/batch/job/step/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/batch/memory.max", "max\n");
  root.write("sys/fs/cgroup/batch/job/memory.max", "1073741824\n");
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1073741824);
}

TEST(CgroupLimits, ReadV1) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n");
  root.write("proc/self/mountinfo", kMountV1);
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_EQ(limits.cpus, 0.5);
  EXPECT_FALSE(limits.memory_bytes);
}

TEST(CgroupLimits, TellWhatIsLeftOfMemoryAndProcessesInV2) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "0::/job/step\n");
  root.write("proc/self/mountinfo", kMountV2);
  root.write("sys/fs/cgroup/job/memory.max", "1000\n");
  root.write("sys/fs/cgroup/job/memory.current", "700\n");
  root.write("sys/fs/cgroup/job/memory.stat", "anon 500\ninactive_file 150\n");
  root.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  root.write("sys/fs/cgroup/job/pids.max", "100\n");
  root.write("sys/fs/cgroup/job/pids.current", "60\n");
  root.write("sys/fs/cgroup/job/step/pids.max", "50\n");
  root.write("sys/fs/cgroup/job/step/pids.current", "20\n");
  const CgroupLimits limits = cgroup_limits(root.path());
  EXPECT_EQ(limits.memory_left_bytes, 450);
  EXPECT_EQ(limits.processes_left, 30);
}

TEST(CgroupLimits, TellWhatIsLeftOfMemoryInV1) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "4:memory:/\n");
  root.write("proc/self/mountinfo", kMountV1);
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_inactive_file 20\n");
  EXPECT_EQ(cgroup_limits(root.path()).memory_left_bytes, 20);
}

TEST(CgroupLimits, KnowTheUnlimitedOfV1) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "2:cpu,cpuacct:/\n");
  root.write("proc/self/mountinfo", kMountV1);
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cgroup_limits(root.path()).cpus);
}

TEST(CgroupLimits, UseTheMountWhereAContainerSeesOnlyItsOwnGroup) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "0::/docker/0123\n");
  root.write("proc/self/mountinfo",
             "30 25 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_limits(root.path()).cpus, 2.0);
}

TEST(CgroupLimits, IgnoreFilesOfAnotherFormat) {
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "nonsense\n0::/\n");
  root.write("proc/self/mountinfo", std::string("nonsense\n - \n") + kMountV2);
  for (const char* text : {"", "100000", "x y", "100000 0", "-5 100000", "1 2 3"}) {
    root.write("sys/fs/cgroup/cpu.max", text);
    EXPECT_FALSE(cgroup_limits(root.path()).cpus) << text;
  }
}

TEST(UsableCpus, AreCutByTheQuotaRoundedUp) {
  EXPECT_EQ(cut_by_quota(8, {}), 8);
  EXPECT_EQ(cut_by_quota(8, {1.5, {}}), 2);
  EXPECT_EQ(cut_by_quota(8, {0.1, {}}), 1);
  EXPECT_EQ(cut_by_quota(8, {64.0, {}}), 8);
  EXPECT_EQ(cut_by_quota(8, {1e18, {}}), 8);
}

TEST(UsableCpus, FollowTheAffinityMask) {
  const std::vector<int> all = affinity_cpus();
  ASSERT_FALSE(all.empty());
  std::thread([&] {  // a mask of one thread, which ends with it
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(all.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(affinity_cpus(), std::vector<int>{all.back()});
    EXPECT_EQ(usable_cpus(), 1);
  })
      .join();
  EXPECT_LE(usable_cpus(), static_cast<int>(all.size()));
}

TEST(CpuRanges, AreWrittenAsTheKernelDoes) {
  EXPECT_EQ(cpu_ranges({}), "");
  EXPECT_EQ(cpu_ranges({3}), "3");
  EXPECT_EQ(cpu_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

class MaxIsa : public ::testing::Test {
 protected:
  ~MaxIsa() override { unsetenv("TRAINMARK_MAX_ISA"); }
};

TEST_F(MaxIsa, LowersTheInstructionSetAndNeverRaisesIt) {
  const InstructionSet own = usable_instruction_set();
  setenv("TRAINMARK_MAX_ISA", "baseline", 1);
  EXPECT_EQ(usable_instruction_set(), InstructionSet::kBaseline);
  for (const InstructionSet limit : {InstructionSet::kAvx2, InstructionSet::kAvx512,
                                     InstructionSet::kAvx512Bf16, InstructionSet::kAmx}) {
    setenv("TRAINMARK_MAX_ISA", to_string(limit).c_str(), 1);
    EXPECT_EQ(usable_instruction_set(), std::min(limit, own));
  }
  setenv("TRAINMARK_MAX_ISA", "", 1);
  EXPECT_EQ(usable_instruction_set(), own);
}

TEST_F(MaxIsa, RefusesANameItDoesNotKnow) {
  setenv("TRAINMARK_MAX_ISA", "avx1024", 1);
  EXPECT_EQ(thrown_message<ConfigError>([] { usable_instruction_set(); }),
            "TRAINMARK_MAX_ISA: must be one of baseline, avx2, avx512, avx512_bf16, amx, got "
            "\"avx1024\"");
}

TEST(MachineFiles, GiveNullForEveryFactThatCannotBeRead) {
  const TemporaryDirectory root;
  const Json facts = machine_file_facts(root.path());
  EXPECT_EQ(facts.size(), 9u);
  for (const auto& [name, value] : facts.items()) EXPECT_TRUE(value.is_null()) << name;
}

TEST(MachineFiles, CountSocketsCoresAndThreads) {
  const TemporaryDirectory root;
  for (int cpu = 0; cpu < 8; ++cpu) {  // 2 sockets of 2 cores of 2 threads
    const std::string topology = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.write(topology + "physical_package_id", std::to_string(cpu / 2 % 2) + "\n");
    root.write(topology + "core_id", std::to_string(cpu % 2) + "\n");
  }
  root.write("sys/devices/system/cpu/cpu8/online", "0\n");
  root.write("sys/devices/system/cpu/cpufreq/policy0/x", "");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  root.write("sys/devices/system/node/node0/x", "");
  root.write("sys/devices/system/node/node1/x", "");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Own CPU: 8 threads\n");
  root.write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  root.write("etc/os-release", "ID=own\nPRETTY_NAME=\"Own Linux 1\"\n");
  EXPECT_EQ(machine_file_facts(root.path()), Json::parse(R"({
    "cpu_model": "Own CPU: 8 threads", "sockets": 2, "cores": 4, "logical_cpus": 8,
    "numa_nodes": 2, "memory_bytes": 2097152, "transparent_huge_pages": "madvise",
    "governor": "performance", "operating_system": "Own Linux 1"})"));
}

TEST(MachineFiles, ShareCachesEvenlyAmongTheirCpus) {
  const TemporaryDirectory root;
  const auto write = [&](int index, int level, const std::string& size, const std::string& cpus) {
    const std::string cache =
        "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    root.write(cache + "level", std::to_string(level) + "\n");
    root.write(cache + "size", size + "\n");
    root.write(cache + "shared_cpu_list", cpus + "\n");
  };
  EXPECT_EQ(cache_bytes(root.path(), 2, 2), 0);
  write(0, 1, "48K", "0");
  write(1, 1, "32K", "0");
  root.write("sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction\n");
  write(2, 2, "1024K", "0,8");
  write(3, 3, "32768K", "0-3,8-11");
  EXPECT_EQ(cache_bytes(root.path(), 1, 1), 48 * 1024);
  EXPECT_EQ(cache_bytes(root.path(), 2, 1), 512 * 1024);
  EXPECT_EQ(cache_bytes(root.path(), 3, 1), 4096 * 1024);
  EXPECT_EQ(cache_bytes(root.path(), 3, 4), 4 * 4096 * 1024);
  write(3, 3, "32768K", "3-0");
  EXPECT_EQ(cache_bytes(root.path(), 3, 1), 0) << "a list that makes no sense";
}

TEST(EnvironmentFacts, KeepWhatMovesFiguresAndNoSecret) {
  const char* const environment[] = {"OMP_NUM_THREADS=2",
                                     "ONEDNN_VERBOSE=a=b",
                                     "OMPI_MCA_btl=self,vader",
                                     "SLURM_JOB_ID=7",
                                     "HOME=/root",
                                     "SLURM_JWT=s3cret",
                                     "OMPI_MCA_orte_hnp_uri=1.0;tcp://10.0.0.1:5",
                                     "OMPI_MCA_orte_precondition_transports=5d7b-91c2",
                                     "OMPI_MCA_initial_wdir=/home/alice/secret",
                                     "OMPI_COMM_WORLD_SIZE=4",
                                     "OMPI_MCA_hwloc_base_binding_policy=core",
                                     "LD_PRELOAD=/home/alice/libjemalloc.so:libx.so",
                                     "UCX_NET_DEVICES=mlx5_0:1",
                                     "TRAINMARK_TOKEN=s3cret",
                                     "NOTHING",
                                     nullptr};
  EXPECT_EQ(environment_facts(environment),
            Json::parse(R"({"OMP_NUM_THREADS": "2", "ONEDNN_VERBOSE": "a=b",
                            "OMPI_MCA_btl": "self,vader", "SLURM_JOB_ID": "7",
                            "OMPI_COMM_WORLD_SIZE": "4",
                            "OMPI_MCA_hwloc_base_binding_policy": "core",
                            "LD_PRELOAD": "libjemalloc.so:libx.so",
                            "UCX_NET_DEVICES": "mlx5_0:1"})"));
}

TEST(MachineFacts, DescribeThisMachine) {
  const Json facts = machine_facts();
  EXPECT_EQ(facts["usable_cpus"], usable_cpus());
  EXPECT_EQ(facts["instruction_set"], to_string(usable_instruction_set()));
  EXPECT_GT(facts["memory_bytes"].get<std::int64_t>(), 0);
  EXPECT_THAT(facts["kernel"].get<std::string>(), ::testing::StartsWith("Linux "));
  EXPECT_TRUE(facts["cgroup"].contains("cpu_quota"));
  EXPECT_TRUE(facts["environment"].is_object());
}

TEST(BuildFacts, GiveARevisionOrSayUnknown) {
  const Json facts = build_facts();
  std::string revision = facts["revision"].get<std::string>();
  if (revision.ends_with("-dirty")) revision.resize(revision.size() - 6);
  const bool hash =
      revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string::npos;
  EXPECT_TRUE(hash || revision == "unknown") << revision;
  EXPECT_FALSE(facts["version"].get<std::string>().empty());
  EXPECT_FALSE(facts["build_type"].get<std::string>().empty());
  EXPECT_FALSE(facts["compiler"].get<std::string>().empty());
  EXPECT_FALSE(facts["system"].get<std::string>().empty());
  EXPECT_THAT(facts["target"].get<std::string>(), ::testing::StartsWith("Linux "));
  EXPECT_THAT(facts["built_with"].get<std::string>(),
              ::testing::MatchesRegex("nlohmann/json [0-9.]+, spdlog [0-9.]+, fmt [0-9.]+, CLI11 "
                                      "[0-9.]+.*"));
}

TEST(PeakRss, GrowsWithMemoryInUse) {
  const std::int64_t before = peak_rss_bytes();
  ASSERT_GT(before, 0);
  constexpr std::size_t kBytes = 64u << 20;
  const std::vector<char> used(kBytes, 1);
  EXPECT_GT(peak_rss_bytes() + (used.back() - 1), before + static_cast<std::int64_t>(kBytes / 4));
}

TEST(ProcessAge, IsShortAndGrowsAsTheClockDoes) {
  const double before = process_age_s();
  EXPECT_GE(before, 0.0);
  EXPECT_LT(before, 600.0);
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double after = process_age_s();
  const double passed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_NEAR(after - before, passed, 0.02);
}

TEST(SystemError, CarriesTheTextOfTheErrno) {
  EXPECT_STREQ(system_error("a.txt: cannot open", ENOENT).what(),
               "a.txt: cannot open: No such file or directory");
  EXPECT_EQ(system_error("x", EIO).code(), ExitCode::kSystem);
}

}  // namespace
}  // namespace base

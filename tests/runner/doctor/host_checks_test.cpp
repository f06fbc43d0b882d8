// Verdicts on made-up machines.
#include "runner/doctor/host_checks.h"

#include <gmock/gmock.h>

#include "find_finding.h"

namespace doctor {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

/// A machine without problems.
HostFacts good_host() {
  HostFacts host;
  host.host = "node1";
  host.cpu_flags = {"avx2", "avx512f", "avx512_bf16"};
  host.instruction_set = "avx512_bf16";
  host.governor = "performance";
  host.huge_pages = "madvise";
  host.clock_source = "tsc";
  host.smt = false;
  host.memory_available = 64 * kGib;
  host.shm_free = host.shm_total = 32 * kGib;
  host.limits.core = 0;
  host.limits.stack = 8 << 20;
  host.limits.open_files = 65536;
  host.clock_read_ns = 25.0;
  host.clock_synchronized = true;
  host.can_drop_caches = true;
  host.advice_works = true;
  return host;
}

/// A configuration with 2 ranks per node.
Needs some_needs() {
  Needs needs;
  needs.has_configuration = true;
  needs.ranks = 4;
  needs.node_ranks = 2;
  needs.node_bytes = 8 * kGib;
  needs.rank_bytes = 5 * kGib;
  needs.shared_bytes = kGib;
  needs.file_bytes = kGib;
  needs.clear_caches = "auto";
  return needs;
}

Findings all_of(const HostFacts& host, const Needs& needs) {
  Findings all = judge_machine(host, needs);
  for (const Findings& more : {judge_memory(host, needs), judge_limits(host, needs)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

/// The finding `id` on the good machine after `change`.
template <class Change>
Finding after(const std::string& id, Change change) {
  HostFacts host = good_host();
  Needs needs = some_needs();
  change(host, needs);
  return found(all_of(host, needs), id);
}

TEST(HostChecks, FindNothingOnAGoodMachine) {
  for (const Finding& finding : all_of(good_host(), some_needs())) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.id << ": " << finding.measured;
    EXPECT_EQ(finding.remedy, "") << finding.id;
  }
}

TEST(HostChecks, GiveARemedyForAllThatIsNotFine) {
  HostFacts host;  // nothing is known, everything is limited
  host.limits = {16, 16, 16, 16, 16, 16, 16, {}};
  host.shm_free = 0;
  host.memory_available = 0;
  Needs needs = some_needs();
  needs.wants_bf16 = true;
  for (const Finding& finding : all_of(host, needs)) {
    const bool is_bad = finding.verdict > Verdict::kNotKnown;
    EXPECT_EQ(is_bad, !finding.remedy.empty()) << finding.id;
    EXPECT_TRUE(!is_bad || !finding.expected.empty()) << finding.id;
  }
}

TEST(HostChecks, SayWhatTheyCouldNotLookAt) {
  const Findings findings = all_of(HostFacts(), Needs());
  for (const char* id : {"cpu.governor", "cpu.smt", "memory.huge_pages", "clock.synchronized",
                         "cache.advice", "memory.available"}) {
    EXPECT_EQ(found(findings, id).verdict, Verdict::kNotKnown) << id;
    EXPECT_NE(found(findings, id).measured, "") << id;
  }
}

TEST(HostChecks, WarnOfACpuWithoutAvx2) {
  const auto finding =
      after("cpu.instruction_set", [](HostFacts& host, Needs&) { host.cpu_flags = {"sse4_2"}; });
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
}

TEST(HostChecks, LookForBf16OnlyWhereItIsWanted) {
  EXPECT_FALSE(has(all_of(good_host(), some_needs()), "cpu.bf16"));
  const auto lacking = after("cpu.bf16", [](HostFacts& host, Needs& needs) {
    host.cpu_flags = {"avx2"};
    needs.wants_bf16 = true;
  });
  EXPECT_EQ(lacking.verdict, Verdict::kWarning);
  EXPECT_EQ(lacking.remedy, "--set training.precision=f32");
}

TEST(HostChecks, RefuseAConfigurationThatNeedsMoreMemory) {
  const auto finding =
      after("memory.available", [](HostFacts& host, Needs&) { host.memory_available = 4 * kGib; });
  EXPECT_EQ(finding.verdict, Verdict::kError);
  EXPECT_EQ(catalogue_entry(finding.id).error_code, base::ExitCode::kUsage);
  EXPECT_THAT(finding.expected, HasSubstr("8.0 GiB for 2 ranks"));
  EXPECT_EQ(finding.value, 4.0 * kGib);
}

TEST(HostChecks, CountTheLimitOfTheControlGroup) {
  const auto finding = after("memory.available", [](HostFacts& host, Needs&) {
    host.cgroup.memory_left_bytes = 2 * kGib;
  });
  EXPECT_EQ(finding.verdict, Verdict::kError);
  EXPECT_THAT(finding.measured, HasSubstr("control group"));
  EXPECT_THAT(finding.remedy, HasSubstr("--mem"));
}

TEST(HostChecks, WarnWhereMemoryIsNearlyUsedUp) {
  const auto finding = after("memory.available",
                             [](HostFacts& host, Needs&) { host.memory_available = 8 * kGib + 1; });
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
}

TEST(HostChecks, RefuseASmallSharedMemory) {
  const auto finding = after("memory.shm", [](HostFacts& host, Needs&) {
    host.shm_total = 64 << 20;
    host.shm_free = 60 << 20;
  });
  EXPECT_EQ(finding.verdict, Verdict::kError);
  // What is in use stays: 4 MiB in addition to the GiB.
  EXPECT_THAT(finding.remedy, HasSubstr("size=1028m "));
}

TEST(HostChecks, TellWhichLimitIsTooLow) {
  const auto files =
      after("limit.open_files", [](HostFacts& host, Needs&) { host.limits.open_files = 64; });
  EXPECT_EQ(files.verdict, Verdict::kWarning);
  EXPECT_EQ(files.remedy, "ulimit -n 4096");
  const auto processes = after("limit.processes", [](HostFacts& host, Needs&) {
    host.limits.processes = 100;
    host.user_processes = 95;
  });
  EXPECT_EQ(processes.verdict, Verdict::kError);
  EXPECT_THAT(processes.measured, HasSubstr("5 left of ulimit -u"));
  const auto pids =
      after("limit.processes", [](HostFacts& host, Needs&) { host.cgroup.processes_left = 3; });
  EXPECT_THAT(pids.measured, HasSubstr("pids.max"));
  const auto space = after("limit.address_space",
                           [](HostFacts& host, Needs&) { host.limits.address_space = kGib; });
  EXPECT_EQ(space.verdict, Verdict::kError);
  const auto size =
      after("limit.file_size", [](HostFacts& host, Needs&) { host.limits.file_size = kGib - 1; });
  EXPECT_EQ(size.verdict, Verdict::kError);
  const auto time =
      after("limit.cpu_time", [](HostFacts& host, Needs&) { host.limits.cpu_time = 600; });
  EXPECT_EQ(time.verdict, Verdict::kWarning);
  EXPECT_EQ(time.value, 600.0);
  const auto core = after("limit.core", [](HostFacts& host, Needs&) { host.limits.core = {}; });
  EXPECT_EQ(core.verdict, Verdict::kNote);
}

TEST(HostChecks, AskForLockedMemoryOnlyBesideInfiniBand) {
  HostFacts host = good_host();
  host.limits.locked_memory = 65536;
  EXPECT_FALSE(has(all_of(host, some_needs()), "limit.locked_memory"));
  host.has_infiniband = true;
  EXPECT_EQ(found(all_of(host, some_needs()), "limit.locked_memory").verdict, Verdict::kWarning);
}

TEST(HostChecks, AskForColdCachesAsTheConfigurationDoes) {
  const auto with = [](const char* clear_caches, bool advice_works = false) {
    return after("cache.drop",
                 [&](HostFacts& host, Needs& needs) {
                   host.can_drop_caches = false;
                   host.advice_works = advice_works;
                   needs.clear_caches = clear_caches;
                 })
        .verdict;
  };
  EXPECT_EQ(with("never"), Verdict::kOk);
  EXPECT_EQ(with("auto"), Verdict::kNote);
  EXPECT_EQ(with("required"), Verdict::kError);
  EXPECT_EQ(with("required", true), Verdict::kNote) << "the data's own files are dropped";
}

TEST(HostChecks, WarnOfASlowClock) {
  const auto finding = after("clock.source", [](HostFacts& host, Needs&) {
    host.clock_source = "hpet";
    host.clock_read_ns = 1200.0;
  });
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
  EXPECT_THAT(finding.measured, HasSubstr("1200 ns a look, hpet"));
}

TEST(HostChecks, NameTheBusiestProcesses) {
  const std::vector<BusyProcess> busy = {{10, 1000, "python", 1.5}, {11, 0, "kswapd0", 0.5}};
  const Finding finding = judge_busy(busy, 4);
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
  EXPECT_THAT(finding.measured, HasSubstr("2.0 of 4 CPUs"));
  EXPECT_THAT(finding.measured, HasSubstr("python (process 10, user 1000): 1.5"));
  EXPECT_EQ(judge_busy(busy, 128).verdict, Verdict::kOk);
  EXPECT_EQ(judge_busy({}, 4).verdict, Verdict::kOk);
}

}  // namespace
}  // namespace doctor

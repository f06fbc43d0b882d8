// Tests of the program with environment variables that limit or bind its threads.
#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "runner/from_outside.h"

namespace {

using testing::HasSubstr;

class ThreadTeam : public outside::ProgramTest {
 protected:
  outside::Ended bench(const std::string& workload, const std::string& environment,
                       const std::string& options = "--threads 2") const {
    return shell(
        "env -u OMP_NUM_THREADS OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
        environment + " timeout 60 " TRAINMARK " bench " + workload +
        " --batch 2 --steps 1 --warmup 0 --limit 0 " + options);
  }
};

TEST_F(ThreadTeam, OfFewerThreadsThanAskedForIsRefusedByName) {
  for (const char* const workload : {"resnet50", "cosmoflow", "deepcam", "dlrm"}) {
    const outside::Ended ended = bench(workload, "OMP_THREAD_LIMIT=1");
    EXPECT_EQ(ended.status, 2) << workload << ended.out;
    EXPECT_THAT(ended.err, HasSubstr("OMP_THREAD_LIMIT=1: gives a rank 1 of its 2 threads"));
  }
  const outside::Ended ended = bench("resnet50", "OMP_MAX_ACTIVE_LEVELS=0");
  EXPECT_EQ(ended.status, 2) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("OMP_MAX_ACTIVE_LEVELS=0: gives a rank 1 of its 2 threads"));
}

TEST_F(ThreadTeam, OnFewerCpusThanThreadsIsRefusedByName) {
  const outside::Ended ended = bench("resnet50", "GOMP_CPU_AFFINITY=0");
  EXPECT_EQ(ended.status, 2) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("GOMP_CPU_AFFINITY=0: binds the 2 threads of a rank to 1 CPU:"));
}

TEST_F(ThreadTeam, IsUsedAsItIsWhereNobodyAskedForMore) {
  for (const char* const limit : {"OMP_THREAD_LIMIT=1", "GOMP_CPU_AFFINITY=0",
                                  "OMP_MAX_ACTIVE_LEVELS=0", "OMP_PROC_BIND=primary"}) {
    const outside::Ended ended = bench("resnet50", limit, "--image-size 32 --classes 10");
    EXPECT_EQ(ended.status, 0) << limit << ended.err;
    EXPECT_THAT(ended.out, testing::ContainsRegex("threads_per_rank +1\n"));
  }
}

/// OpenMP binds the main thread to the first CPU before main(): it is not the only one.
TEST_F(ThreadTeam, HasAThreadForEachCpuWhereOpenMpBindsThem) {
  const unsigned cpus = std::thread::hardware_concurrency();
  for (const char* const binding : {"OMP_PROC_BIND=close", "OMP_PLACES=threads"}) {
    const outside::Ended ended = bench("resnet50", binding, "--image-size 32 --classes 10");
    EXPECT_EQ(ended.status, 0) << binding << ended.err;
    EXPECT_THAT(ended.out,
                testing::ContainsRegex("threads_per_rank +" + std::to_string(cpus) + "\n"));
    EXPECT_THAT(ended.err, testing::Not(HasSubstr("times will say nothing")));
  }
}

TEST_F(ThreadTeam, OfEachRankOnTheSameCpuIsToldWithTheVariable) {
  const outside::Ended ended = bench("resnet50", "OMP_PROC_BIND=close " + outside::mpirun(2),
                                     "--threads 1 --image-size 32 --classes 10");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("2 threads on 1 CPUs"));
  EXPECT_THAT(ended.err, HasSubstr("OMP_PROC_BIND=close binds them to 1 of "));
}

#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit
TEST_F(ThreadTeam, ThatTheSystemDoesNotStartIsRefused) {
  const outside::Ended ended = bench("resnet50", "sh -c 'ulimit -v 3000000; exec \"$@\"' sh",
                                     "--threads 4096 --image-size 32 --classes 10");
  EXPECT_EQ(ended.status, 4) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("trainmark: OpenMP, with 4096 threads: cannot start threads: "));
  EXPECT_THAT(ended.err, HasSubstr("raise the limit of processes"));
}
#endif

TEST_F(ThreadTeam, MayBeBoundToAsManyCpus) {
  const outside::Ended ended =
      bench("resnet50", "OMP_PROC_BIND=true", "--threads 1 --image-size 32 --classes 10");
  EXPECT_EQ(ended.status, 0) << ended.err;
}

}  // namespace

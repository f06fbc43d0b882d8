// The meaning of launchers' and schedulers' environment variables.
#include "runner/doctor/launch_facts.h"

#include <gmock/gmock.h>

#include "find_finding.h"

namespace doctor {
namespace {

using Launcher = LaunchFacts::Launcher;
using testing::HasSubstr;

TEST(Environment, IsReadFromAListOfAssignments) {
  const std::array<const char*, 4> list = {"A=1", "B=x=y", "broken", nullptr};
  const Environment environment = environment_of(list.data());
  EXPECT_EQ(variable(environment, "B"), "x=y");
  EXPECT_EQ(number(environment, "A"), 1);
  EXPECT_EQ(number(environment, "B"), std::nullopt);
  EXPECT_EQ(number(environment, "C"), std::nullopt);
}

TEST(LaunchFacts, OfAnEmptyEnvironmentAreOfASingleProcess) {
  const LaunchFacts facts = read_launch({});
  EXPECT_EQ(facts.launcher, Launcher::kNone);
  EXPECT_EQ(facts.scheduler, "");
  EXPECT_EQ(facts.ranks, 1);
}

TEST(LaunchFacts, OfMpirunTellRanksOfTheNode) {
  const LaunchFacts facts = read_launch({{"OMPI_COMM_WORLD_RANK", "5"},
                                         {"OMPI_COMM_WORLD_SIZE", "8"},
                                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  EXPECT_EQ(facts.launcher, Launcher::kWithPmi);
  EXPECT_EQ(facts.rank, 5);
  EXPECT_EQ(facts.local_rank, 1);
  EXPECT_EQ(facts.ranks, 8);
  EXPECT_EQ(facts.node_ranks, 4);
}

TEST(LaunchFacts, OfSrunWithPmixDivideTheTasksBetweenTheNodes) {
  const LaunchFacts facts = read_launch({{"SLURM_JOB_ID", "7"},
                                         {"SLURM_JOB_NUM_NODES", "4"},
                                         {"SLURM_CPUS_ON_NODE", "16"},
                                         {"SLURM_STEP_ID", "0"},
                                         {"SLURM_STEP_NUM_TASKS", "6"},
                                         {"SLURM_STEP_NUM_NODES", "4"},
                                         {"SLURM_PROCID", "3"},
                                         {"SLURM_LOCALID", "1"},
                                         {"PMIX_RANK", "3"}});
  EXPECT_EQ(facts.launcher, Launcher::kWithPmi);
  EXPECT_EQ(facts.scheduler, "Slurm");
  EXPECT_EQ(facts.nodes, 4);
  EXPECT_EQ(facts.node_cpus, 16);
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.local_rank, 1);
  EXPECT_EQ(facts.node_ranks, 2);
}

TEST(LaunchFacts, OfSrunWithoutPmiAreAnError) {
  const LaunchFacts facts =
      read_launch({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "2"}});
  EXPECT_EQ(facts.launcher, Launcher::kSrunAlone);
  EXPECT_EQ(facts.rank, 2);
  const Finding finding = found(judge_launch(facts), "launch.pmi");
  EXPECT_EQ(finding.verdict, Verdict::kError);
  EXPECT_THAT(finding.remedy, HasSubstr("--mpi=pmix"));
}

TEST(LaunchFacts, OfABatchScriptAreNoStep) {
  const LaunchFacts facts =
      read_launch({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(facts.launcher, Launcher::kNone);
  const Finding finding = found(judge_launch(facts), "launch.nodes");
  EXPECT_EQ(finding.verdict, Verdict::kNote);
  EXPECT_THAT(finding.remedy, HasSubstr("mpirun"));
}

TEST(LaunchFacts, KnowOtherSchedulers) {
  EXPECT_EQ(read_launch({{"PBS_JOBID", "1"}, {"NCPUS", "8"}}).node_cpus, 8);
  EXPECT_EQ(read_launch({{"PBS_JOBID", "1"}}).scheduler, "PBS");
  EXPECT_EQ(read_launch({{"LSB_JOBID", "1"}}).scheduler, "LSF");
  EXPECT_EQ(read_launch({{"FLUX_JOB_ID", "f"}, {"FLUX_JOB_NNODES", "3"}}).nodes, 3);
  EXPECT_EQ(read_launch({{"SGE_ROOT", "/x"}, {"JOB_ID", "1"}, {"NHOSTS", "2"}}).nodes, 2);
}

TEST(LaunchFacts, ReadSlurmsCpusOfNodesThatAreAlike) {
  const auto cpus = [](const char* list) {
    return read_launch({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_CPUS_PER_NODE", list}}).node_cpus;
  };
  EXPECT_EQ(cpus("4"), 4);
  EXPECT_EQ(cpus("4(x2)"), 4);
  EXPECT_EQ(cpus("4(x2),3"), std::nullopt);
  EXPECT_EQ(cpus("many"), std::nullopt);
}

Finding openmp(const Environment& environment, std::int64_t threads, std::int64_t cpus) {
  return found(judge_variables(environment, threads, cpus), "launch.openmp");
}

TEST(Variables, ThatDoNotHurtAreFine) {
  EXPECT_EQ(openmp({}, 2, 2).verdict, Verdict::kOk);
  EXPECT_EQ(openmp({{"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "close"}}, 2, 2).verdict,
            Verdict::kOk);
  EXPECT_EQ(openmp({{"OMP_NUM_THREADS", "2,1"}}, 2, 2).verdict, Verdict::kOk);
}

TEST(Variables, ThatHurtAreNamed) {
  const Finding broken = openmp({{"OMP_NUM_THREADS", "two"}}, 1, 2);
  EXPECT_EQ(broken.verdict, Verdict::kError);
  EXPECT_EQ(broken.subject, "OMP_NUM_THREADS");
  EXPECT_EQ(openmp({{"OMP_NUM_THREADS", "4"}}, 4, 2).remedy, "export OMP_NUM_THREADS=2");
  EXPECT_EQ(openmp({{"OMP_THREAD_LIMIT", "1"}}, 2, 2).subject, "OMP_THREAD_LIMIT");
  EXPECT_EQ(openmp({{"OMP_THREAD_LIMIT", "1"}}, 2, 2).verdict, Verdict::kError);
  EXPECT_EQ(openmp({{"OMP_MAX_ACTIVE_LEVELS", "0"}}, 2, 2).verdict, Verdict::kError);
  EXPECT_EQ(openmp({{"OMP_MAX_ACTIVE_LEVELS", "1"}}, 2, 2).verdict, Verdict::kOk);
  EXPECT_EQ(openmp({{"OMP_DYNAMIC", "true"}}, 2, 2).subject, "OMP_DYNAMIC");
  EXPECT_EQ(openmp({{"OMP_PROC_BIND", "true"}}, 2, 1).subject, "OMP_PROC_BIND");
  EXPECT_EQ(openmp({{"OMP_PROC_BIND", "true"}}, 2, 1).verdict, Verdict::kError);
  EXPECT_EQ(openmp({{"OMP_WAIT_POLICY", "active"}}, 4, 2).subject, "OMP_WAIT_POLICY");
}

TEST(Variables, ThatLimitInstructionSetsAreNamed) {
  const Finding limit = found(judge_variables({{"ONEDNN_MAX_CPU_ISA", "AVX2"}}, 1, 1),
                              "cpu.library_limit", "ONEDNN_MAX_CPU_ISA");
  EXPECT_EQ(limit.verdict, Verdict::kWarning);
  EXPECT_EQ(limit.remedy, "unset ONEDNN_MAX_CPU_ISA");
  EXPECT_FALSE(has(judge_variables({{"ONEDNN_MAX_CPU_ISA", "ALL"}}, 1, 1), "cpu.library_limit"));
}

}  // namespace
}  // namespace doctor

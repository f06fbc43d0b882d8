// Tests of the environment variables of launchers and schedulers. Values are those of Open MPI
// 4.1.4 and Slurm 22.05.8; others are from the documentation.
#include "runner/launch/launcher.h"

#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kOpenMpi4[] = "Open MPI v4.1.4";

Environment batch_script() {
  return {{"SLURM_JOB_ID", "17"},       {"SLURM_CLUSTER_NAME", "hawk"},
          {"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", "0"},        {"SLURM_NODEID", "0"},
          {"SLURM_CPUS_ON_NODE", "128"}};
}

Environment step(const Environment& more = {}) {
  Environment all = batch_script();
  for (const auto& [name, value] : Environment{{"SLURM_STEP_ID", "0"},
                                               {"SLURM_STEP_NUM_TASKS", "4"},
                                               {"SLURM_STEP_NUM_NODES", "2"},
                                               {"SLURM_PROCID", "3"},
                                               {"SLURM_LOCALID", "1"}}) {
    all[name] = value;
  }
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Environment mpirun(int rank) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", "8"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
          {"PMIX_RANK", std::to_string(rank)}};
}

TEST(Launcher, IsNoneInAShellAndInABatchScript) {
  EXPECT_EQ(launcher_of({}).kind, LauncherKind::kNone);
  EXPECT_EQ(launcher_of(batch_script()).kind, LauncherKind::kNone);
  EXPECT_EQ(launcher_of({{"OMPI_COMM_WORLD_RANK", ""}}).kind, LauncherKind::kNone);
}

TEST(Launcher, ReadsRanksAndNodesOfAJobStep) {
  const Launcher found = launcher_of(step());
  EXPECT_EQ(found.kind, LauncherKind::kSrun);
  EXPECT_EQ(found.peers, PeerService::kNone);
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.ranks, 4);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.nodes, 2);
  EXPECT_EQ(launcher_of(step({{"PMIX_NAMESPACE", "slurm.pmix.17.0"}})).peers, PeerService::kPmix);
  EXPECT_EQ(launcher_of(step({{"PMI_FD", "9"}})).peers, PeerService::kPmi);
}

TEST(Launcher, TakesMpirunsWordAndNotThatOfItsDaemonsStep) {
  Environment both = step();
  both.merge(mpirun(5));
  const Launcher found = launcher_of(both);
  EXPECT_EQ(found.kind, LauncherKind::kMpirun);
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.ranks, 8);
  EXPECT_EQ(found.local_ranks, 4);
}

TEST(Launcher, KnowsTheOthers) {
  const auto expect = [](const Environment& environment, LauncherKind kind, std::int64_t rank,
                         std::int64_t ranks) {
    const Launcher found = launcher_of(environment);
    EXPECT_EQ(found.kind, kind);
    EXPECT_EQ(found.rank, rank);
    EXPECT_EQ(found.ranks, ranks);
  };
  const Environment pmi = {{"PMI_RANK", "2"}, {"PMI_SIZE", "6"}};
  const auto with = [](Environment some, const Environment& more) {
    for (const auto& [name, value] : more) some[name] = value;
    return some;
  };
  expect(pmi, LauncherKind::kHydra, 2, 6);
  // mpiexec of MPICH starts its proxies by srun, one on each node.
  expect(with(step(pmi), {{"MPI_LOCALNRANKS", "3"}}), LauncherKind::kHydra, 2, 6);
  expect(with(pmi, {{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "6"}}), LauncherKind::kFlux, 2, 6);
  expect(with(pmi, {{"PALS_RANKID", "2"}}), LauncherKind::kPals, 2, 6);
  expect({{"PALS_RANKID", "2"}}, LauncherKind::kPals, 2, 0);
  expect({{"PJM_MPI_PROC", "6"}, {"PMIX_RANK", "2"}}, LauncherKind::kPjm, 2, 6);
  expect({{"JSM_NAMESPACE_RANK", "2"}, {"JSM_NAMESPACE_SIZE", "6"}}, LauncherKind::kJsrun, 2, 6);
  expect({{"PMIX_RANK", "2"}}, LauncherKind::kPmix, 2, 0);
  expect({{"MV2_COMM_WORLD_RANK", "2"}, {"MV2_COMM_WORLD_SIZE", "6"}}, LauncherKind::kHydra, 2, 6);
  expect({{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "2"}, {"WORLD_SIZE", "6"}},
         LauncherKind::kTorchrun, 2, 6);
}

TEST(Launcher, KnowsProcessesWhoseOtherVariablesWereLost) {
  const auto process = [](const Environment& environment) { return launcher_of(environment); };
  for (const char* const rank : {"0", "1"}) {
    const Launcher found = process({{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", rank}});
    EXPECT_EQ(found.kind, LauncherKind::kSrun);
    EXPECT_EQ(found.ranks, 2);
    EXPECT_TRUE(found.rank_0_knows);
  }
  Environment second = batch_script();
  second["SLURM_PROCID"] = "1";  // no batch script is the second task
  EXPECT_EQ(process(second).kind, LauncherKind::kSrun);
  EXPECT_FALSE(process(second).rank_0_knows);
  for (const char* of_a_step : {"SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "SLURM_SRUN_COMM_HOST"}) {
    Environment first = batch_script();
    first[of_a_step] = "4";  // no batch script is part of a step
    EXPECT_EQ(process(first).kind, LauncherKind::kSrun) << of_a_step;
    EXPECT_EQ(process(first).ranks, 4) << of_a_step;
  }
  EXPECT_FALSE(process({{"PMIX_RANK", "1"}}).rank_0_knows);
  EXPECT_TRUE(process(step()).rank_0_knows);
  EXPECT_TRUE(process(mpirun(1)).rank_0_knows);
}

TEST(Launcher, NamesAVariableThatIsNoNumber) {
  for (const std::string garbage : {"four", "-1", "4 ", "0x4", "99999999999999999999", "\x1b[2J"}) {
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] {
                  launcher_of(step({{"SLURM_STEP_NUM_TASKS", garbage}}));
                }),
                HasSubstr("SLURM_STEP_NUM_TASKS: expected a whole number"))
        << garbage;
    EXPECT_EQ(launched_rank(step({{"SLURM_STEP_NUM_TASKS", garbage}})), 0);
  }
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { launcher_of(mpirun(8)); }),
              HasSubstr("OMPI_COMM_WORLD_RANK: expected less than the 8"));
  EXPECT_EQ(launched_rank(mpirun(7)), 7);
  // Unused variables are not checked.
  EXPECT_EQ(launcher_of({{"PMI_SIZE", "many"}}).kind, LauncherKind::kNone);
}

TEST(StartProblem, IsAJobStepWithoutWhatOpenMpiNeeds) {
  EXPECT_THAT(start_problem(launcher_of(step()), kOpenMpi4),
              AllOf(HasSubstr("srun started 4 processes without PMIx"),
                    HasSubstr("srun --mpi=pmix, or by mpirun")));
  EXPECT_EQ(start_problem(launcher_of(step({{"PMIX_RANK", "3"}})), kOpenMpi4), "");
  EXPECT_EQ(start_problem(launcher_of(step({{"PMI_FD", "9"}})), kOpenMpi4), "");
  EXPECT_EQ(start_problem(launcher_of(mpirun(1)), kOpenMpi4), "");
  EXPECT_EQ(start_problem(launcher_of(batch_script()), kOpenMpi4), "");
  EXPECT_EQ(start_problem({}, kOpenMpi4), "");
}

TEST(StartProblem, SparesOneProcessWhereTheLibraryDoes) {
  const Launcher alone = launcher_of(step({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}));
  EXPECT_THAT(start_problem(alone, kOpenMpi4), HasSubstr("srun started this process without"));
  EXPECT_EQ(start_problem(alone, "Open MPI v5.0.7"), "");
  EXPECT_NE(start_problem(launcher_of(step()), "Open MPI v5.0.7"), "");
  // MPICH then starts single ranks, which size_problem() detects.
  EXPECT_EQ(start_problem(launcher_of(step()), "MPICH Version:\t4.0.2"), "");
}

TEST(SizeProblem, IsLoneProcessesThatWereToBeOneJob) {
  const Launcher four = launcher_of(step({{"PMI_FD", "9"}}));
  EXPECT_EQ(size_problem(four, 4, kOpenMpi4), "");
  EXPECT_THAT(size_problem(four, 1, kOpenMpi4),
              AllOf(HasSubstr("srun started 4 processes, but each would do the whole job alone"),
                    HasSubstr("--mpi=pmix")));
  EXPECT_THAT(size_problem(four, 1, "MPICH Version 4.0.2"), HasSubstr("--mpi=list"));
  EXPECT_THAT(size_problem(four, 2, kOpenMpi4), HasSubstr("MPI knows 2 of them"));
  EXPECT_THAT(size_problem(launcher_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), 1, kOpenMpi4),
              HasSubstr("start it by the mpirun of Open MPI v4.1.4"));
  EXPECT_EQ(size_problem({}, 1, kOpenMpi4), "");
  const Launcher third = launcher_of({{"PMIX_RANK", "2"}});
  EXPECT_EQ(size_problem(third, 8, kOpenMpi4), "");
  EXPECT_THAT(size_problem(third, 1, kOpenMpi4), HasSubstr("as rank 2, but MPI knows 1 rank only"));
}

TEST(Peers, AreThoseOfALauncherThatMpiKnowsOrOfAStepOfSeveralTasks) {
  EXPECT_FALSE(has_peers({}));
  EXPECT_FALSE(has_peers(batch_script()));
  EXPECT_TRUE(has_peers(mpirun(5)));
  EXPECT_TRUE(has_peers({{"PMIX_RANK", "0"}}));
  EXPECT_TRUE(has_peers({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}));
  EXPECT_TRUE(has_peers(step()));
  const Environment alone = {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}};
  EXPECT_FALSE(has_peers(step(alone)));
  Environment joined = alone;
  joined["PMI_FD"] = "9";
  EXPECT_TRUE(has_peers(step(joined)));
}

TEST(Allocation, SaysWhatTheSchedulerGave) {
  const Allocation job = allocation_of(batch_script());
  EXPECT_EQ(job.scheduler, "Slurm");
  EXPECT_EQ(job.job, "17");
  EXPECT_EQ(job.cluster, "hawk");
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.node_cpus, 128);
  EXPECT_EQ(allocation_of(step({{"SLURM_STEP_NUM_NODES", "1"}})).nodes, 1);
  Environment daemon = step({{"SLURM_STEP_NUM_NODES", "1"}});
  daemon.merge(mpirun(5));
  EXPECT_EQ(allocation_of(daemon).nodes, 2);
  EXPECT_EQ(allocation_of({}).scheduler, "");
  EXPECT_EQ(allocation_of({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NUM_NODES", "two"}}).nodes, 0);
}

TEST(Allocation, KnowsOtherSchedulers) {
  const Allocation pbs = allocation_of({{"PBS_JOBID", "12.pbs1.site.edu"}});
  EXPECT_EQ(pbs.scheduler, "PBS");
  EXPECT_EQ(pbs.cluster, "pbs1");
  EXPECT_EQ(allocation_of({{"PBS_JOBID", "12"}, {"PBS_SERVER", "pbs2.site.edu"}}).cluster, "pbs2");
  const Allocation lsf = allocation_of({{"LSB_JOBID", "5"},
                                        {"LSB_CLUSTER_NAME", "summit"},
                                        {"LSB_MCPU_HOSTS", "login 1 node1 42 node2 42 node1 42"}});
  EXPECT_EQ(lsf.cluster, "summit");
  EXPECT_EQ(lsf.nodes, 3);
  EXPECT_EQ(allocation_of({{"FLUX_JOB_ID", "f1"}, {"FLUX_JOB_NNODES", "4"}}).nodes, 4);
  EXPECT_EQ(allocation_of({{"PJM_JOBID", "9"}, {"PJM_NODE", "6"}}).nodes, 6);
  const Allocation sge =
      allocation_of({{"JOB_ID", "7"}, {"SGE_CLUSTER_NAME", "lab"}, {"NHOSTS", "2"}});
  EXPECT_EQ(sge.cluster, "lab");
  EXPECT_EQ(sge.nodes, 2);
}

TEST(Allocation, NamesJobAndTaskForPeople) {
  EXPECT_EQ(job_text(allocation_of(batch_script())), "slurm 17");
  EXPECT_EQ(job_text(allocation_of({{"PBS_JOBID", "12[3].pbs1"}})), "pbs 12[3].pbs1");
  EXPECT_EQ(job_text(allocation_of({{"LSB_JOBID", "5"}, {"LSB_JOBINDEX", "0"}})), "lsf 5");
  EXPECT_EQ(job_text(allocation_of({{"LSB_JOBID", "5"}, {"LSB_JOBINDEX", "3"}})), "lsf 5[3]");
  EXPECT_EQ(job_text(allocation_of({{"FLUX_JOB_ID", "f1\x1b"}})), "flux f1?");
  EXPECT_EQ(job_text({}), "");
}

TEST(Environment, HoldsWhatThisProcessHas) {
  ::setenv("TRAINMARK_LAUNCHER_TEST", "a=b", 1);
  EXPECT_EQ(environment().at("TRAINMARK_LAUNCHER_TEST"), "a=b");
  ::unsetenv("TRAINMARK_LAUNCHER_TEST");
}

}  // namespace
}  // namespace launch

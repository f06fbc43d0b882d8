// Tests of the warnings about idle nodes and CPUs.
#include "runner/launch/advice.h"

#include <gmock/gmock.h>

namespace launch {
namespace {

using testing::HasSubstr;

Environment mpirun(const Environment& more = {}) {
  Environment all = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

TEST(UnusedNodes, AreThoseOfTheJobThatTheRunLeavesOut) {
  const Allocation two{"Slurm", "17", "hawk", 2, 0};
  EXPECT_EQ(unused_nodes(two, 1),
            "the Slurm job has 2 nodes, this run uses 1: srun --mpi=pmix or mpirun starts it on "
            "all of them");
  EXPECT_EQ(unused_nodes(two, 2), "");
  EXPECT_EQ(unused_nodes({}, 1), "");
  EXPECT_THAT(unused_nodes({"LSF", "5", "", 3, 0}, 2), HasSubstr("mpirun starts it on all"));
}

TEST(LoneTask, IsToldThatTheJobHasMore) {
  const Environment batch = {{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}};
  EXPECT_THAT(lone_task(batch, 1),
              testing::StartsWith("the Slurm job has 4 tasks (SLURM_NTASKS), this run is one "
                                  "process and trains alone: "));
  EXPECT_EQ(lone_task(batch, 2), "");
  Environment other = batch;
  other["SLURM_NTASKS"] = "1";
  EXPECT_EQ(lone_task(other, 1), "");
  other = batch;
  other["SLURM_STEP_ID"] = "0";
  other["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(lone_task(other, 1), "") << "srun -n 1 in a larger job";
  EXPECT_EQ(lone_task({}, 1), "");
  EXPECT_EQ(lone_task(mpirun({{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "4"}}), 1), "");
}

TEST(IdleCpus, AreTheWorkOfMpirunsDefault) {
  EXPECT_THAT(idle_cpus(mpirun(), 1, 1, 64), HasSubstr("bound the rank of a node to 1 of its 64"));
  EXPECT_THAT(idle_cpus(mpirun(), 2, 2, 64), HasSubstr("--bind-to none, or --map-by slot:pe=32"));
  EXPECT_THAT(idle_cpus(mpirun({{"OMPI_MCA_rmaps_base_mapping_policy", "ppr:1:node"}}), 1, 1, 64),
              HasSubstr("the rank of a node"));
  EXPECT_EQ(idle_cpus(mpirun(), 64, 64, 64), "");
}

TEST(IdleCpus, MayBeThoseThatOpenMpsVariablesLeaveOut) {
  EXPECT_EQ(idle_cpus({{"GOMP_CPU_AFFINITY", "0"}}, 1, 1, 2),
            "GOMP_CPU_AFFINITY=0: leaves this run 1 of 2 CPUs: unset it, or name all of them");
  EXPECT_THAT(idle_cpus({{"OMP_PLACES", "{0}"}}, 1, 1, 2), HasSubstr("OMP_PLACES={0}: leaves"));
  EXPECT_EQ(idle_cpus({{"OMP_PLACES", "cores"}}, 1, 2, 2), "");
}

TEST(IdleCpus, AreNobodysBusinessWhereABindingWasAskedFor) {
  EXPECT_EQ(idle_cpus(mpirun({{"OMPI_MCA_hwloc_base_binding_policy", "core"}}), 1, 1, 64), "");
  EXPECT_EQ(idle_cpus(mpirun({{"OMPI_MCA_rmaps_base_mapping_policy", "slot:pe=8"}}), 2, 16, 64),
            "");
  EXPECT_EQ(idle_cpus({}, 1, 1, 64), "");
}

}  // namespace
}  // namespace launch

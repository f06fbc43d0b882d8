// Tests of the program that gives its ranks CPUs, and that finds the best number of ranks.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/replaced_file.h"
#include "runner/from_outside.h"
#include "two_cores.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;

class RankBinding : public outside::ProgramTest {
 protected:
  void SetUp() override {
    outside::ProgramTest::SetUp();
    if (cpus_.size() < 2) GTEST_SKIP() << "needs two cores";
  }
  /// On the CPUs of two cores.
  outside::Ended bench(const std::string& launcher, const std::string& options = "") const {
    const std::string environment =
        "env -u OMP_NUM_THREADS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
    return shell(environment + taskset() + "timeout 60 " + launcher +
                 " " TRAINMARK
                 " bench cosmoflow --size 32 --batch 2 --steps 1 --warmup 0 --limit 0 --json - " +
                 options);
  }
  std::string cpu(std::size_t which) const { return std::to_string(cpus_.at(which)); }
  std::string both() const { return base::cpu_ranges(cpus_); }
  std::string taskset() const { return "taskset -c " + both() + " "; }
  /// By rank.
  static json bindings(const outside::Ended& ended) {
    EXPECT_EQ(ended.status, 0) << ended.err;
    return json::parse(ended.out).at("provenance").at("binding");
  }
  const std::vector<int> cpus_ = outside::two_cores();
};

TEST_F(RankBinding, GivesEachRankACoreOfItsOwn) {
  const json found = bindings(bench(outside::mpirun(2)));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(found[rank]["bound_by"], "trainmark");
    EXPECT_EQ(found[rank]["cpus"], cpu(rank));
    EXPECT_EQ(found[rank]["threads"], 1);
    EXPECT_EQ(found[rank]["node_cpus"], 2);
  }
}

TEST_F(RankBinding, LeavesRanksTogetherIfToldOrIfTheyAreMoreThanCores) {
  const json told = bindings(bench(outside::mpirun(2), "--no-bind"));
  EXPECT_NE(told[0]["bound_by"], "trainmark");
  EXPECT_EQ(told[0]["cpus"], both());
  EXPECT_EQ(told[0]["threads"], 1);
  EXPECT_EQ(bindings(bench(outside::mpirun(3)))[2]["cpus"], both());
  EXPECT_EQ(bindings(bench(outside::mpirun(2), "--threads 2"))[0]["cpus"], both());
  EXPECT_EQ(bindings(bench("env OMP_PROC_BIND=true " + outside::mpirun(2)))[0]["cpus"], both());
}

TEST_F(RankBinding, KeepsTheLaunchers) {
  const std::string swap = "sh -c 'if [ $" MPIEXEC_RANK " = 0 ]; then cpu=" + cpu(1) +
                           "; else cpu=" + cpu(0) + "; fi; exec taskset -c $cpu \"$@\"' sh";
  const json found = bindings(bench(outside::mpirun(2) + swap));
  EXPECT_EQ(found[0]["bound_by"], "launcher");
  EXPECT_EQ(found[0]["cpus"], cpu(1));
  EXPECT_EQ(found[1]["cpus"], cpu(0));
}

/// Of three ranks two have the same CPU, and the third has its own.
TEST_F(RankBinding, LeavesThoseThatShareACore) {
  const std::string uneven = "sh -c 'if [ $" MPIEXEC_RANK " = 0 ]; then cpu=" + cpu(1) +
                             "; else cpu=" + cpu(0) + "; fi; exec taskset -c $cpu \"$@\"' sh";
  const json found = bindings(bench(outside::mpirun(3) + uneven));
  for (const json& rank : found) {
    EXPECT_EQ(rank["bound_by"], "launcher");
    EXPECT_EQ(rank["threads"], 1);
  }
}

TEST_F(RankBinding, SparesNoCoreThatIsTheOnlyOne) {
  const outside::Ended alone = bench("", "--spare-cores 1");
  EXPECT_EQ(bindings(alone)[0]["threads"], 1);
  const outside::Ended both = bench(outside::mpirun(2), "--spare-cores 1");
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("cpus.spare_cores: a rank of this node has 1 core"));
}

TEST_F(RankBinding, GivesRanksAProgressThread) {
  EXPECT_EQ(bindings(bench(outside::mpirun(2)))[0]["progress"], "layers") << "no core is spared";
  const json found = bindings(bench(outside::mpirun(2), "--progress thread"));
  for (const json& rank : found) {
    EXPECT_EQ(rank["progress"], "thread");
    EXPECT_EQ(rank["threads"], 1);
  }
  EXPECT_EQ(bindings(bench("", "--progress thread"))[0]["progress"], "layers") << "one rank";
  EXPECT_EQ(bench("", "--progress never").status, 2);
}

class Tuning : public RankBinding {
 protected:
  outside::Ended tune(const std::string& options, const std::string& before = "",
                      const std::string& launcher = MPIEXEC " " MPIEXEC_OPTIONS " -n") const {
    return shell(
        "env -u OMP_NUM_THREADS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
        before + " " + taskset() +
        "timeout 100 " TRAINMARK
        " bench cosmoflow --size 32 --batch 4 --steps 1 --warmup 0 --limit 0 --launcher '" +
        launcher + "' --tune " + config_ + " " + options);
  }
  const std::string config_ = (folder_ / "config.json").string();
};

TEST_F(Tuning, WritesTheFastestRanksIntoTheConfiguration) {
  base::write_file(config_, R"({"workload": "cosmoflow", "threads": 1, "epochs": 2})");
  const outside::Ended ended = tune("--json -", "OMP_NUM_THREADS=2");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json found = json::parse(ended.out);
  ASSERT_EQ(found.at("tried").size(), 2U);
  EXPECT_EQ(found["batch"], 4);
  for (const json& one : found["tried"]) {
    EXPECT_EQ(one["samples_per_s"].size(), 3U);
    EXPECT_EQ(one["failure"], nullptr);
    EXPECT_EQ(one["threads"].get<int>() * one["cpus"]["ranks_per_node"].get<int>(), 2);
  }
  EXPECT_EQ(json::parse(outside::content(config_)),
            json({{"workload", "cosmoflow"}, {"epochs", 2}, {"cpus", found["best"]}}));
  EXPECT_THAT(ended.err, HasSubstr("WARNING: OMP_NUM_THREADS is set"));
  EXPECT_THAT(ended.err, HasSubstr("round 3 of 3: 2 ranks: "));
}

TEST_F(Tuning, LeavesTheConfigurationAsItIsIfItCannotTry) {
  const std::string text = R"({"workload": "cosmoflow"})";
  base::write_file(config_, text);
  const outside::Ended failed = tune("", "", "false");
  EXPECT_EQ(failed.status, 4);
  EXPECT_THAT(failed.err, HasSubstr("exit code 1: it says nothing"));
  EXPECT_EQ(outside::content(config_), text);
  base::write_file(config_, R"({"workload": "dlrm"})");
  const outside::Ended other = tune("");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("expected a configuration of cosmoflow, found one of dlrm"));
}

}  // namespace

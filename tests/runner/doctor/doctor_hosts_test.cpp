// Several hosts in network namespaces, one of which deviates.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace doctor {
namespace {

using nlohmann::json;
using outside::Ended;

/// Hosts with a finding of that check that is not ok.
std::vector<std::string> odd(const json& document, const std::string& id) {
  std::vector<std::string> hosts;
  for (const json& finding : document.at("between_nodes")) {
    if (finding.at("id") == id && finding.at("verdict") != "ok") {
      hosts.push_back(finding.at("subject"));
    }
  }
  for (const json& node : document.at("nodes")) {
    for (const json& finding : node.at("findings")) {
      if (finding.at("id") == id && finding.at("verdict") != "ok") hosts.push_back(node.at("host"));
    }
  }
  return hosts;
}

class DoctorOnHosts : public outside::ProgramTest {
 protected:
  /// Runs doctor on three hosts, each of which executes `first` in its shell before.
  json doctor(const std::string& first, const std::string& arguments) const {
    std::ofstream(folder_ / "rank.sh") << "#!/bin/sh\n" << first << "\nexec \"$@\"\n";
    const std::string script = (folder_ / "rank.sh").string();
    const Ended ended = shell(
        "env OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 " HOSTS " 3 unlimited " +
        mpirun_on_hosts() + "sh " + script + " " TOY_PROGRAM " doctor " + arguments + " --json -");
    status_ = ended.status;
    EXPECT_TRUE(json::accept(ended.out)) << ended.out << ended.err;
    return json::parse(ended.out);
  }
  static std::string mpirun_on_hosts() { return outside::mpirun(3, outside::on_hosts(3)); }
  mutable int status_ = -1;
};

TEST_F(DoctorOnHosts, NamesTheHostWithASlowLink) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  const json document = doctor(
      "[ $(hostname) = host3 ] && tc qdisc replace dev net0 root tbf rate 80mbit burst 64kb "
      "latency 100ms",
      "--quick");
  EXPECT_EQ(status_, 0);
  ASSERT_EQ(document.at("nodes").size(), 3);
  EXPECT_EQ(document.at("network").at("links").size(), 3);
  EXPECT_THAT(odd(document, "rate.network"), testing::ElementsAre("host3"));
}

TEST_F(DoctorOnHosts, NamesTheHostWithAnotherEnvironment) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  const json document =
      doctor("[ $(hostname) = host2 ] && export TRAINMARK_MAX_ISA=baseline", "--quick");
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(odd(document, "cpu.library_limit"), testing::ElementsAre("host2"));
  EXPECT_EQ(document.at("between_nodes").is_array(), true);
}

/// A real Slurm of three nodes, each with its own /tmp and /dev/shm; stopped by the destructor.
class DoctorUnderSlurm : public outside::ProgramTest {
 protected:
  ~DoctorUnderSlurm() override { slurm("stop"); }
  Ended slurm(const std::string& command) const {
    return shell(SLURM_HOSTS " --state " + (folder_ / "s").string() + " " + command);
  }
};

TEST_F(DoctorUnderSlurm, NamesEachNodeThatIsOddInItsOwnWay) {
  if (std::system(SLURM_HOSTS " probe >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "a real Slurm cannot be started here";
  }
  ASSERT_EQ(slurm("start 3").status, 0);
  // MPICH's ranks do not even start with so little.
  if (!outside::kIsHydra) {
    ASSERT_EQ(slurm("node 2 run mount -o remount,size=2m /dev/shm").status, 0);
  }
  // Other nodes do not see results below a node's own /tmp.
  const std::string config = (folder_ / "s" / "shared" / "toy.json").string();
  std::ofstream(config) << R"({"workload": "toy", "epochs": 8, "threads": 1, "results": )"
                           R"({"directory": "/tmp/results", "system": "box"}})";
  const std::string placement =
      outside::kIsHydra ? " -ppn 2 -bind-to none " : " --map-by ppr:2:node --bind-to none ";
  const Ended ended = slurm(
      "run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 salloc "
      "-N3 -n6 " MPIEXEC +
      placement + TOY_PROGRAM " doctor --quick --json - " + config);
  EXPECT_EQ(ended.status, 4) << ended.err;
  ASSERT_TRUE(json::accept(ended.out)) << ended.out << ended.err;
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("nodes").size(), 3);
  if (!outside::kIsHydra) {
    EXPECT_THAT(odd(document, "memory.shm"), testing::ElementsAre("node2"));
  }
  EXPECT_THAT(odd(document, "folder.shared"),
              testing::ElementsAre("node2: /tmp/results/box/toy", "node3: /tmp/results/box/toy"));
}

TEST_F(DoctorUnderSlurm, SaysHowToStartRanksThatSrunLeftAlone) {
  if (std::system(SLURM_HOSTS " probe >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "a real Slurm cannot be started here";
  }
  ASSERT_EQ(slurm("start 2").status, 0);
  const Ended ended = slurm("run srun -N2 -n2 --mpi=none " TOY_PROGRAM " doctor --quick");
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("launch.pmi"));
  EXPECT_THAT(ended.out, testing::HasSubstr("srun --mpi=pmix"));
}

}  // namespace
}  // namespace doctor

// What a run does with the CPUs of a node, and says about them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/program_trial.h"
#include "two_cores.h"

namespace runner {
namespace {

using nlohmann::json;
using outside::Ended;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Cpus : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (outside::two_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  }
};

TEST_F(Cpus, AreGivenToRanksAndTold) {
  const Ended run = toy_on(2, "run " + config({{"threads", 1}}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, ContainsRegex("2 ranks on [^ ]+, bound by trainmark: CPUs [0-9,-]+ with 1 "
                                     "thread; [0-9,-]+ with 1 thread\n"));
  const json telemetry = json::parse(outside::content(result("1.telemetry.json")));
  const json& binding = telemetry.at("provenance").at("binding");
  EXPECT_EQ(binding[1]["bound_by"], "trainmark");
  EXPECT_NE(binding[0]["cpus"], binding[1]["cpus"]);
}

TEST_F(Cpus, StayAsTheyAreIfToldSo) {
  const Ended run = toy_on(2, "run " + config({{"threads", 1}, {"cpus", {{"bind", false}}}}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("bound by trainmark")));
}

TEST_F(Cpus, HaveAThreadForExchangesIfToldSo) {
  const Ended run =
      toy_on(2, "run " + config({{"threads", 1}, {"cpus", {{"progress", "thread"}}}}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, ContainsRegex("CPUs [0-9,-]+ with 1 thread and a progress thread; "));
  const json telemetry = json::parse(outside::content(result("1.telemetry.json")));
  EXPECT_EQ(telemetry.at("provenance").at("binding")[1]["progress"], "thread");
  const Ended wrong = toy_on(2, "run " + config({{"cpus", {{"progress", "treads"}}}}));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("progress"));
}

TEST_F(Cpus, ArePlanned) {
  const Ended plan = toy_on(2, "run --dry-run --json - " + config({{"threads", 1}}));
  EXPECT_EQ(plan.status, 0) << plan.err;
  const json ranks = json::parse(plan.out).at("ranks");
  EXPECT_THAT(ranks.at("cpus").get<std::string>(), HasSubstr("2 ranks on "));
  EXPECT_TRUE(ranks.at("faults").is_array());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results"));
}

TEST_F(Cpus, OfOtherRanksThanTheConfigurationIsForAreToldOf) {
  const Ended run = toy_on(2, "run " + config({{"cpus", {{"ranks_per_node", 4}}}}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err,
              ContainsRegex("WARNING: [^ ]+: /cpus/ranks_per_node: expected 4 ranks, started 2"));
  EXPECT_THAT(toy_on(2, "run " + config({{"cpus", {{"ranks_per_node", 2}}}})).err,
              Not(HasSubstr("ranks_per_node")));
}

TEST_F(Cpus, ThatAreAllSparedAreRefused) {
  const std::string spared = config({{"cpus", {{"spare_cores", 4096}}}});
  const Ended run = toy_on(2, "run " + spared);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("cpus.spare_cores: a rank of this node has "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results"));
  const Ended doctor = toy("doctor --quick " + spared);
  EXPECT_EQ(doctor.status, 2) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("config.ranks"));
}

}  // namespace
}  // namespace runner

// The command from outside: alone, on several ranks, and with problems.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/report/schema_check.h"
#include "runner/from_outside.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;
using testing::HasSubstr;

class DoctorProgram : public outside::ProgramTest {
 protected:
  std::string config(json overrides = json::object()) const {
    json object = {{"workload", "toy"},
                   {"epochs", 8},
                   {"clear_caches", "never"},
                   {"results", {{"directory", (folder_ / "results").string()}}}};
    object.update(overrides);
    std::ofstream(folder_ / "toy.json") << object;
    return (folder_ / "toy.json").string();
  }
  Ended doctor(const std::string& arguments, const std::string& before = "") const {
    return shell(before + TOY_PROGRAM " doctor " + arguments);
  }
};

/// The finding of that check, on the first node or between nodes.
json finding(const json& document, const std::string& id) {
  for (const json& found : document.at("nodes").at(0).at("findings")) {
    if (found.at("id") == id) return found;
  }
  for (const json& found : document.at("between_nodes")) {
    if (found.at("id") == id) return found;
  }
  ADD_FAILURE() << "no finding " << id;
  return {{"verdict", ""}, {"measured", ""}, {"remedy", ""}};
}

TEST_F(DoctorProgram, LooksAtThisMachineWithoutLauncherOrConfiguration) {
  const Ended ended = doctor("");
  EXPECT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.out, HasSubstr(", 1 rank\n"));
  EXPECT_THAT(ended.out, HasSubstr("rate.memory"));
  EXPECT_THAT(ended.out, HasSubstr("checks fine"));
  EXPECT_THAT(ended.out, HasSubstr("training can run here: "));
  EXPECT_EQ(ended.err, "");
}

TEST_F(DoctorProgram, WritesOneDocumentAndNothingElse) {
  const Ended ended = doctor("--quick --json - " + config());
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("format"), 1);
  EXPECT_EQ(document.at("quick"), true);
  EXPECT_EQ(document.at("ranks"), 1);
  EXPECT_EQ(document.at("configuration"), (folder_ / "toy.json").string());
  EXPECT_EQ(finding(document, "folder.write").at("verdict"), "ok");
  EXPECT_EQ(finding(document, "mpi.start").at("verdict"), "ok");
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  for (const json& entry : document.at("between_nodes")) {
    EXPECT_NE(entry.at("id"), "rate.memory") << "quick measures no rates";
  }
}

TEST_F(DoctorProgram, WritesTextAndAFile) {
  const Ended ended = doctor("--quick --json " + (folder_ / "doctor.json").string());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("checks fine"));
  EXPECT_EQ(json::parse(content(folder_ / "doctor.json")).at("exit_code"), 0);
}

TEST_F(DoctorProgram, ComparesRanksOfOneNode) {
  for (const int ranks : {2, 4}) {
    const Ended ended =
        doctor("--json - " + config({{"threads", 1}}), mpirun(ranks) + "env OMP_NUM_THREADS=1 ");
    ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
    const json document = json::parse(ended.out);
    EXPECT_EQ(document.at("ranks"), ranks);
    ASSERT_EQ(document.at("nodes").size(), 1);
    EXPECT_EQ(document.at("nodes").at(0).at("ranks"), ranks);
    EXPECT_EQ(document.at("nodes").at(0).at("threads"), ranks);
    EXPECT_GT(finding(document, "rate.memory").at("value"), 0.0);
    EXPECT_GE(document.at("network").at("sums").size(), 3);
  }
}

TEST_F(DoctorProgram, WarnsOfThreadsBeyondCpus) {
  const Ended ended = doctor("--quick --json - " + config({{"threads", 64}}), mpirun(2));
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json threads = finding(json::parse(ended.out), "launch.threads");
  EXPECT_EQ(threads.at("verdict"), "warning");
  EXPECT_THAT(threads.at("remedy").get<std::string>(), HasSubstr("OMP_NUM_THREADS="));
}

TEST_F(DoctorProgram, RefusesAConfigurationThatItCannotRead) {
  const Ended absent = doctor("nowhere.json");
  EXPECT_EQ(absent.status, 2);
  EXPECT_THAT(absent.err, HasSubstr("nowhere.json"));
  EXPECT_EQ(doctor(config({{"epoks", 3}})).status, 2);
  EXPECT_EQ(doctor("--set epochs=3").status, 2);
  EXPECT_EQ(doctor("--ranks 0").status, 2);
  EXPECT_EQ(doctor("--ranks 4", mpirun(2)).status, 2);
}

TEST_F(DoctorProgram, NamesADatasetThatIsNotThere) {
  const std::string path = (folder_ / "nowhere").string();
  const Ended ended = doctor("--quick " + config({{"dataset", {{"train", path}}}}));
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("error     folder.dataset      " + path + ": No such file"));
  EXPECT_THAT(ended.out, HasSubstr("this configuration cannot run here: 1 error"));
}

TEST_F(DoctorProgram, RefusesResultsThatCannotBeWritten) {
  const Ended ended = doctor("--quick " + config({{"results", {{"directory", "/proc/results"}}}}));
  EXPECT_EQ(ended.status, 4) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("folder.write"));
}

TEST_F(DoctorProgram, JudgesForRanksThatWereNotStarted) {
  // The toy needs 4 KiB of memory per thread, and each rank 4 MiB of /dev/shm.
  const Ended ended = doctor("--quick --ranks 100000 --json - " + config({{"threads", 4096}}));
  EXPECT_EQ(ended.status, 4) << ended.out;
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("ranks"), 100000);
  EXPECT_EQ(document.at("started_ranks"), 1);
  EXPECT_EQ(document.at("nodes").at(0).at("ranks"), 100000);
  const json memory = finding(document, "memory.available");
  EXPECT_EQ(memory.at("verdict"), "error");
  EXPECT_THAT(memory.at("expected").get<std::string>(), HasSubstr("for 100000 ranks"));
  EXPECT_EQ(finding(document, "memory.shm").at("verdict"), "error");
  EXPECT_THAT(finding(document, "launch.threads").at("measured").get<std::string>(),
              HasSubstr("409600000 threads of 100000 ranks"));
}

TEST_F(DoctorProgram, NamesThePlannedRanksInItsFirstLine) {
  const Ended ended = doctor("--quick --ranks 3 " + config({{"threads", 1}}));
  EXPECT_THAT(ended.out, HasSubstr(", 3 ranks as planned, for ")) << ended.err;
}

TEST_F(DoctorProgram, WritesWhatItsSchemaSays) {
  const Ended schema = doctor("--schema");
  ASSERT_EQ(schema.status, 0) << schema.err;
  for (const std::string& launcher : {std::string(), mpirun(2)}) {
    const Ended ended = doctor("--json - " + config({{"threads", 1}}), launcher);
    ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
    json document = json::parse(ended.out);
    EXPECT_EQ(schema_check::fault(schema.out, document), "");
    document["nodes"][0]["findings"][0]["verdict"] = "fine";
    EXPECT_NE(schema_check::fault(schema.out, document), "");
  }
}

TEST_F(DoctorProgram, TellsARefusedConfigurationBesideAllElse) {
  const std::string path = (folder_ / "nowhere").string();
  const std::string file = config({{"dataset", {{"train", path}}}});
  const Ended both = doctor("--quick --ranks 7 " + file);
  EXPECT_EQ(both.status, 3);
  EXPECT_THAT(both.out, HasSubstr("config.ranks        " + file + ": toy: /ranks: must not"));
  EXPECT_THAT(both.out, HasSubstr("folder.dataset"));
  EXPECT_THAT(both.out, HasSubstr("cannot run here: 2 errors"));
  EXPECT_EQ(doctor("--quick --ranks 7 " + config()).status, 2);
}

TEST_F(DoctorProgram, AnswersWhereMpiDoesNotStart) {
  if (outside::kIsHydra) GTEST_SKIP() << "the variable that keeps MPI from starting is Open MPI's";
  const Ended ended =
      doctor("--quick --json " + (folder_ / "doctor.json").string(), "env OMPI_MCA_pml=nonsense ");
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("error     mpi.start           the process died in: "
                                   "MPI_Init_thread: "));
  const json document = json::parse(content(folder_ / "doctor.json"));
  EXPECT_EQ(document.at("exit_code"), 4);
  EXPECT_EQ(finding(document, "clock.source").at("verdict"), "ok");
}

TEST_F(DoctorProgram, AnswersInAStepOfSrunWithoutPmi) {
  const Ended ended =
      doctor("--quick", "env SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 ");
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("launch.pmi"));
  EXPECT_THAT(ended.out, HasSubstr("srun --mpi=pmix"));
}

}  // namespace
}  // namespace doctor

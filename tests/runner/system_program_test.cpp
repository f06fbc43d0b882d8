// `system` from outside: alone, under the launcher, and on several hosts.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace runner {
namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SystemProgram : public outside::ProgramTest {
 protected:
  Ended system(const std::string& arguments) const {
    return shell(TOY_PROGRAM " system " + arguments);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  json in_file(const std::string& name) const { return json::parse(content(file(name))); }
};

TEST_F(SystemProgram, PrintsOneDescriptionUnderALauncher) {
  const Ended alone = system("--json -");
  ASSERT_EQ(alone.status, 0) << alone.err;
  const Ended job = shell(mpirun(3) + TOY_PROGRAM " system --json -");
  ASSERT_EQ(job.status, 0) << job.err;
  EXPECT_EQ(json::parse(job.out)["number_of_nodes"], "1");
  EXPECT_EQ(json::parse(job.out).size(), 33U);
  EXPECT_EQ(json::parse(alone.out)["host_processor_model_name"],
            json::parse(job.out)["host_processor_model_name"]);
}

TEST_F(SystemProgram, SaysOnceThatSrunDidNotJoinItsProcesses) {
  const auto task = [this](int rank, int tasks) {
    return shell("env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=" + std::to_string(tasks) +
                 " SLURM_PROCID=" + std::to_string(rank) + " " + TOY_PROGRAM " system --json -");
  };
  for (const int rank : {0, 1}) {
    const Ended refused = task(rank, 2);
    EXPECT_EQ(refused.status, 4) << refused.err;
    EXPECT_EQ(refused.out, "");
    const std::string remedy = rank == 0 ? "srun started 2 processes" : "";
    EXPECT_THAT(refused.err, HasSubstr(remedy));
    EXPECT_EQ(refused.err.empty(), rank == 1) << refused.err;
  }
  EXPECT_EQ(json::parse(task(0, 1).out).size(), 33U) << "a process alone needs no other";
}

TEST_F(SystemProgram, CountsTheHostsOfAJobAndTellsHowTheyDiffer) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  // Host 2 has a different environment.
  const std::string system = std::string("exec ") + TOY_PROGRAM + " system --json " +
                             file("mine.json") + " --differences -";
  const Ended job =
      shell(HOSTS " 3 unlimited " + mpirun(3, outside::on_hosts(3)) +
            "sh -c '[ $(hostname) = host2 ] && export OMP_WAIT_POLICY=active; " + system + "'");
  ASSERT_EQ(job.status, 0) << job.err;
  EXPECT_EQ(in_file("mine.json")["number_of_nodes"], "3");
  EXPECT_THAT(job.err, HasSubstr("nodes differ in machine.environment.OMP_WAIT_POLICY: "));
  EXPECT_THAT(job.err, HasSubstr("active on host2"));
  const json document = json::parse(job.out);
  EXPECT_EQ(document["nodes"].size(), 3U);
  ASSERT_EQ(document["differences"].size(), 1U) << document["differences"];
  EXPECT_EQ(document["differences"][0]["values"][1]["hosts"], json({"host2"}));
  EXPECT_THAT(in_file("mine.json")["sw_notes"].get<std::string>(), HasSubstr("active on host2"));
}

TEST_F(SystemProgram, MakesTheFolderOfTheDescription) {
  const Ended ended = system("--json " + file("systems/mine.json"));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(in_file("systems/mine.json")["number_of_nodes"], "1");
}

TEST_F(SystemProgram, NamesTheFieldsThatAPersonHasToFillIn) {
  const std::string told = "mine.json: to be filled in by hand: ";
  const Ended first = system("--json " + file("mine.json"));
  EXPECT_THAT(first.err,
              AllOf(HasSubstr(told), HasSubstr("cooling"), Not(HasSubstr("accelerator"))));
  json description = in_file("mine.json");
  for (auto& [key, value] : description.items()) {
    if (value == "" && !key.starts_with("accelerator")) value = "none";
  }
  std::ofstream(file("mine.json")) << description;
  EXPECT_THAT(system("--json " + file("mine.json")).err, Not(HasSubstr(told)));
}

TEST_F(SystemProgram, KeepsWhatAPersonHasFilledIntoTheFileUnlessToldOtherwise) {
  ASSERT_EQ(system("--nodes 4 --json " + file("mine.json")).status, 0);
  json description = in_file("mine.json");
  EXPECT_EQ(description["number_of_nodes"], "4");
  description["cooling"] = "liquid";
  description["operating_system"] = "Other Linux";
  std::ofstream(file("mine.json")) << description;
  const Ended again = system("--submitter me --json " + file("mine.json"));
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(in_file("mine.json")["cooling"], "liquid");
  EXPECT_EQ(in_file("mine.json")["submitter"], "me");
  EXPECT_EQ(in_file("mine.json")["number_of_nodes"], "4");
  EXPECT_EQ(in_file("mine.json")["operating_system"], "Other Linux");
  EXPECT_THAT(again.err, HasSubstr("operating_system: the file says \"Other Linux\""));
  EXPECT_THAT(again.err, Not(HasSubstr("number_of_nodes")));
  ASSERT_EQ(system("--fresh --json " + file("mine.json")).status, 0);
  EXPECT_EQ(in_file("mine.json")["cooling"], "");
  EXPECT_NE(in_file("mine.json")["operating_system"], "Other Linux");
}

TEST_F(SystemProgram, LeavesAFileThatIsNoDescriptionAsItWas) {
  for (const char* text : {"[1]", "{\"a\": 1", "{\"a\": 1, \"a\": 2}"}) {
    std::ofstream(file("mine.json")) << text;
    const Ended refused = system("--json " + file("mine.json"));
    EXPECT_EQ(refused.status, 3) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("mine.json"));
    EXPECT_EQ(content(file("mine.json")), text);
  }
  EXPECT_EQ(system("--fresh").status, 2);
  EXPECT_EQ(system("--json - --differences -").status, 2);
}

TEST_F(SystemProgram, WritesEachDocumentAloneToStandardOutput) {
  const Ended both = system("--json - --differences " + file("nodes.json"));
  EXPECT_EQ(json::parse(both.out).size(), 33U);
  EXPECT_EQ(in_file("nodes.json")["nodes"].size(), 1U);
  EXPECT_THAT(in_file("nodes.json")["differences"], IsEmpty());
}

}  // namespace
}  // namespace runner

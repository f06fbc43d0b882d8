// Tests of what the program prints and where it writes: lost output, closed streams, outputs over
// inputs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/program_trial.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::HasSubstr;
using testing::Not;

TEST_F(ProgramTest, ShowsNoControlCharactersOfNamesInItsMessages) {
  const std::string name = "'" + (folder_ / "a\x1b]0;PWN\x07\x1b[31m.json").string() + "'";
  EXPECT_THAT(toy("run " + name).err, HasSubstr("a?]0;PWN??[31m.json: cannot open"));
  for (const std::string& arguments :
       {"run " + name, "run --resume " + name + " " + config(),
        "run --set 'results.directory=" + name.substr(1, name.size() - 2) + "/\x1b[2J' " + config(),
        "config --json " + name + "/x " + config(), "bench " + name}) {
    for (const int ranks : {1, 2}) {
      const Ended ended = ranks == 1 ? toy(arguments) : toy_on(ranks, arguments);
      EXPECT_THAT(ended.err + ended.out, Not(HasSubstr("\x1b"))) << arguments;
    }
  }
}

TEST_F(ProgramTest, ShowsNoControlCharactersOfFilesThatItReadsOrWrites) {
  const std::string strange = (folder_ / "b\x1b[31m").string();
  fs::copy_file(config(), strange + ".json");
  const std::string description = "system --json '" + strange + ".system.json'";
  for (const std::string& arguments :
       {"doctor --quick '" + strange + ".json'", description, description,
        "stage --list '" + strange + ".json'", "run --dry-run '" + strange + ".json'"}) {
    const Ended ended = toy(arguments);
    EXPECT_THAT(ended.err + ended.out, Not(HasSubstr("\x1b"))) << arguments;
  }
  EXPECT_THAT(toy(description).err, HasSubstr("b?[31m.system.json: kept what it says"));
}

TEST_F(ProgramTest, WritesNoOutputOverAnInput) {
  const std::string file = config();
  ASSERT_EQ(toy("run " + file).status, 0);
  const std::string weights = result("1.weights.h5").string();
  const std::string link = (folder_ / "link").string(), hard = (folder_ / "hard").string();
  fs::create_symlink(weights, link);
  fs::create_hard_link(weights, hard);
  const std::string before = content(file), weights_before = content(weights);
  const std::string evaluation = "evaluate " + file + " --weights " + weights;
  for (const std::string& arguments :
       {evaluation + " --outputs " + weights, evaluation + " --json " + weights,
        evaluation + " --json " + link, evaluation + " --outputs " + hard,
        evaluation + " --json " + file, "run --json " + file + " " + file,
        "run --dry-run --json " + file + " " + file, "config --json " + file + " " + file,
        "doctor " + file + " --json " + file,
        "script slurm " + file + " --cpus-per-rank 1 --output " + file}) {
    const Ended refused = toy(arguments);
    EXPECT_EQ(refused.status, 2) << arguments;
    EXPECT_THAT(refused.err, HasSubstr("is one of the files that are read")) << arguments;
  }
  EXPECT_THAT(toy(evaluation + " --outputs o --json o").err,
              HasSubstr("--json o: --outputs already goes there"));
  EXPECT_EQ(content(file), before);
  EXPECT_EQ(content(weights), weights_before);
}

TEST_F(ProgramTest, WritesTheDocumentBeforeTheText) {
  for (const auto& [options, text] :
       {std::pair("", "RESULT benchmark="), std::pair("--runs 2", "Set of 2 runs")}) {
    const Ended run = shell(fmt::format("{{ {} run {} --json /dev/stdout {} | cat; }}", TOY_PROGRAM,
                                        options, config()));
    EXPECT_LT(run.out.find("\"exit_code\""), run.out.find(text)) << run.out;
    EXPECT_THAT(run.out, HasSubstr(text));
    fs::remove_all(results());
  }
}

TEST_F(ProgramTest, PassesOverConfigurationsBesideLogsThatAreNone) {
  fs::create_directories(results());
  std::ofstream(result("1.config.json"))
      << R"({"workload": )" << std::string(1000000, '[') << std::string(1000000, ']') << '}';
  ASSERT_EQ(::mkfifo(result("2.config.json").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", result("3.config.json"));
  fs::create_directory(result("4.config.json"));
  const Ended plan = toy("run --dry-run " + config());
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("none: no earlier run of this work"));
}

TEST_F(ProgramTest, EndsWithFourIfWhatItPrintsIsLost) {
  for (const std::string& arguments :
       {std::string("--version"), std::string("--help"), std::string("run --help"),
        "config " + config(), std::string("system"), std::string("system --json -"),
        "run --dry-run " + config(), "run --dry-run --json - " + config(), "run " + config(),
        std::string("bench toy"), std::string("completion bash"), std::string("man run"),
        std::string("doctor --schema"), std::string("doctor --quick"),
        std::string("doctor --quick --json -")}) {
    const Ended full = shell("{ " TOY_PROGRAM " " + arguments + " >/dev/full; }");
    EXPECT_EQ(full.status, 4) << arguments;
    EXPECT_THAT(full.err, HasSubstr("trainmark: standard output: cannot be written\n"))
        << arguments;
    EXPECT_EQ(shell("{ " TOY_PROGRAM " " + arguments + " >&-; }").status, 4) << arguments;
  }
  EXPECT_TRUE(fs::exists(result("1.weights.h5")));
  EXPECT_EQ(shell("{ " TOY_PROGRAM " config --json " + (folder_ / "c.json").string() + " " +
                  config() + " >/dev/full; }")
                .status,
            0)
      << "nothing is printed";
}

TEST_F(ProgramTest, PrintsIntoNoFileWhenItsStandardStreamsAreClosed) {
  const Ended run = shell("{ " TOY_PROGRAM " run " + config() + " <&- >&- 2>&-; }");
  EXPECT_EQ(run.status, 4);
  for (const auto& entry : fs::directory_iterator(results())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(content(entry.path()), Not(HasSubstr("RESULT "))) << entry.path();
  }
}

TEST_F(ProgramTest, GoesOnWhenTheReaderOfItsMessagesIsGone) {
  const std::string status = (folder_ / "status").string();
  shell("{ { " TOY_PROGRAM " run " + config({{"model", {{"step_ms", 5}}}}) + "; echo $? >" +
        status + "; } 2>&1 1>/dev/null | head -c 1; }");
  EXPECT_EQ(content(status), "0\n");
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"run_stop\""));
  EXPECT_TRUE(fs::exists(result("1.weights.h5")));
}

TEST_F(ProgramTest, WritesNoMessagesIntoFilesWhenItsStreamsAreClosed) {
  const Ended run = shell("sh -c '" TOY_PROGRAM " run " + config() + " <&- 2>&-'");
  EXPECT_EQ(run.status, 0);
  std::istringstream log(content(result("1.txt")));
  for (std::string line; std::getline(log, line);) EXPECT_THAT(line, HasSubstr(":::MLLOG {"));
}

}  // namespace
}  // namespace runner

// Completion and man pages, compared with the help of each command, and used by the shells.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "runner/from_outside.h"

namespace runner {
namespace {

using outside::content;
using outside::Ended;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

class ShellProgram : public outside::ProgramTest {
 protected:
  Ended toy(const std::string& arguments) const { return shell(TOY_PROGRAM " " + arguments); }

  /// The names that `text` has at the beginnings of its lines, as captured by `pattern`.
  static Words names_in(const std::string& text, const std::string& pattern) {
    Words names;
    const std::regex name(pattern);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::smatch found;
      if (std::regex_search(line, found, name)) names.push_back(found[1]);
    }
    return names;
  }
  /// The names of each command's long options, from its help.
  std::map<std::string, Words> options_by_help() const {
    const std::string all = toy("--help").out;
    const std::string below = all.substr(all.find("Subcommands:"));
    std::map<std::string, Words> options;
    for (const std::string& command :
         names_in(below.substr(0, below.find("\n\n")), "^  ([a-z]+) ")) {
      if (command == "analyze") continue;  // not in this build
      options[command] = names_in(toy(command + " --help").out, "^  (?:-\\w,)?(--[a-z-]+)");
    }
    return options;
  }

  /// The completions that bash offers for the last of `words`.
  Words completed(const std::string& words) const {
    std::ofstream(folder_ / "complete.sh")
        << "source " << (folder_ / "completion.bash").string() << "\nCOMP_WORDS=(" << words
        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trainmark\nprintf '%s\\n' "
           "\"${COMPREPLY[@]}\"\n";
    const Ended ended = shell("bash " + (folder_ / "complete.sh").string());
    EXPECT_EQ(ended.status, 0) << ended.err;
    Words found;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) found.push_back(line);
    }
    return found;
  }
  void write_bash() const {
    std::ofstream(folder_ / "completion.bash") << toy("completion bash").out;
  }
  bool has(const std::string& program) const { return shell("command -v " + program).status == 0; }
};

TEST_F(ShellProgram, CompletesEveryCommandAndEveryOptionInBash) {
  write_bash();
  const auto all = options_by_help();
  ASSERT_GT(all.size(), 6U);
  const Words commands = completed("trainmark ''");
  for (const auto& [command, options] : all) {
    EXPECT_THAT(commands, Contains(command));
    EXPECT_FALSE(options.empty()) << command;
    EXPECT_THAT(completed("trainmark " + command + " --"), IsSupersetOf(options)) << command;
  }
}

TEST_F(ShellProgram, CompletesBeginningsChoicesFilesAndNothingForNumbersInBash) {
  write_bash();
  EXPECT_THAT(completed("trainmark sys"), ElementsAre("system"));
  EXPECT_THAT(completed("trainmark system --j"), ElementsAre("--json"));
  EXPECT_THAT(completed("trainmark system --division ''"), ElementsAre("open", "closed"));
  EXPECT_THAT(completed("trainmark system --division = cl"), ElementsAre("closed"));
  EXPECT_THAT(completed("trainmark completion ''"), ElementsAre("bash", "zsh"));
  EXPECT_THAT(completed("trainmark system --nodes ''"), IsEmpty());
  EXPECT_THAT(completed("trainmark run --trace ''"), IsEmpty());
  std::ofstream(folder_ / "a file.json") << "{}";
  EXPECT_THAT(completed("trainmark run " + (folder_ / "a").string()),
              ElementsAre((folder_ / "a file.json").string()));
  EXPECT_THAT(completed("trainmark run --nothing"), IsEmpty());
}

TEST_F(ShellProgram, CompletesCommandsBelowCommandsInBash) {
  write_bash();
  EXPECT_THAT(completed("trainmark generate ''"), ElementsAre("toy"));
  EXPECT_THAT(completed("trainmark generate toy --o"), ElementsAre("--output"));
  EXPECT_THAT(completed("trainmark bench toy --si"), ElementsAre("--size"));
  EXPECT_THAT(completed("trainmark bench toy --mpi"), ElementsAre("--mpi-timeout"));
}

TEST_F(ShellProgram, WritesACompletionForBashThatShellcheckAccepts) {
  if (!has("shellcheck")) GTEST_SKIP() << "shellcheck is not installed";
  write_bash();
  const Ended checked = shell("shellcheck " + (folder_ / "completion.bash").string());
  EXPECT_EQ(checked.status, 0) << checked.out;
}

TEST_F(ShellProgram, DescribesEveryCommandAndEveryOptionToZsh) {
  const std::string script = toy("completion zsh").out;
  EXPECT_THAT(script, StartsWith("#compdef trainmark\n"));
  for (const auto& [command, options] : options_by_help()) {
    EXPECT_THAT(script, HasSubstr("'" + command + ":")) << "offered";
    const std::size_t begin = script.find("_trainmark_" + command + "() {");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string body = script.substr(begin, script.find("\n}\n", begin) - begin);
    for (const std::string& option : options) {
      EXPECT_THAT(body, AnyOf(HasSubstr("'" + option), HasSubstr("'*" + option))) << command;
    }
  }
}

TEST_F(ShellProgram, GivesZshSpecificationsThatItTakes) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  std::ofstream(folder_ / "_trainmark") << toy("completion zsh").out;
  // compinit finds the function, and zsh completes in a terminal of its own.
  std::ofstream(folder_ / "complete.zsh") << R"(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; stty columns 200 -echo"
zpty -w shell "zstyle ':completion:*' list-prompt ''; LISTMAX=0; bindkey '^I' complete-word; print READY"
zpty -r shell reply '*READY*READY*'
zpty -w -n shell "trainmark system --division "$'\t\t'
zpty -r shell choices '*(closed*open|open*closed)*'
zpty -w -n shell $'\C-u'"trainmark sys"$'\t'
zpty -r shell word '*trainmark system*'
print -r -- "$choices$word"
zpty -d shell
)";
  const Ended ended = shell("timeout 60 zsh -f " + (folder_ / "complete.zsh").string() + " " +
                            folder_.string() + " < /dev/null");
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("closed"), HasSubstr("open"), HasSubstr("trainmark system")))
      << ended.err;
  EXPECT_THAT(ended.out, Not(HasSubstr("invalid")));
}

TEST_F(ShellProgram, HasAManPageForEachCommandWithEveryOption) {
  ASSERT_EQ(toy("man --output " + (folder_ / "man1").string()).status, 0);
  const std::string first = content(folder_ / "man1" / "trainmark.1");
  EXPECT_THAT(first, HasSubstr("target was missed"));
  for (const auto& [command, options] : options_by_help()) {
    const std::string page = content(folder_ / "man1" / ("trainmark-" + command + ".1"));
    EXPECT_EQ(toy("man " + command).out, page) << command;
    EXPECT_THAT(first, HasSubstr("\\fB" + command + "\\fR"));
    for (std::string option : options) {
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) {
        option.insert(at, "\\");
      }
      EXPECT_THAT(page, HasSubstr("\\fB" + option + "\\fR")) << command;
    }
  }
}

TEST_F(ShellProgram, WritesManPagesThatGroffTakesWithoutAWarning) {
  if (!has("groff")) GTEST_SKIP() << "groff is not installed";
  ASSERT_EQ(toy("man --output " + (folder_ / "man1").string()).status, 0);
  const Ended set = shell("groff -man -ww -Tutf8 " + (folder_ / "man1").string() + "/*.1");
  EXPECT_EQ(set.status, 0);
  EXPECT_EQ(set.err, "");
  EXPECT_THAT(set.out, HasSubstr("trainmark"));
}

TEST_F(ShellProgram, RefusesShellsAndPagesThatItDoesNotKnow) {
  EXPECT_EQ(toy("completion fish").status, 2);
  EXPECT_EQ(toy("completion").status, 2);
  const Ended page = toy("man evalute");
  EXPECT_EQ(page.status, 2);
  EXPECT_THAT(page.err, HasSubstr("did you mean 'evaluate'?"));
  EXPECT_EQ(toy("man run --output " + folder_.string()).status, 2);
}

}  // namespace
}  // namespace runner

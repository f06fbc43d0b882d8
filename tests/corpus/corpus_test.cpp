// The corpus: odd inputs, each given to every command that reads such input. No command crashes,
// and what it says is what messages.md holds. TRAINMARK is the program's path.
//
//   TRAINMARK_WRITE_MESSAGES=1 corpus_tests    writes messages.md anew
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runner/from_outside.h"

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using outside::content;
using outside::Ended;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFolder = "tests/corpus";  // tests run from the project's root
constexpr const char* kTable = "tests/corpus/messages.md";

struct Case {
  json kind;
  std::string name, what;

  std::string title() const { return kind.at("kind").get<std::string>() + "/" + name; }
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.title(); }

json kinds() { return json::parse(content(fs::path(kFolder) / "cases.json")); }

std::vector<Case> cases() {
  std::vector<Case> found;
  for (const json& kind : kinds()) {
    for (const auto& [name, what] : kind.at("inputs").items()) found.push_back({kind, name, what});
  }
  return found;
}

bool writes_table() { return std::getenv("TRAINMARK_WRITE_MESSAGES") != nullptr; }

/// The blocks of the table by title; a block is the text between two headings.
std::map<std::string, std::string> read_table() {
  std::map<std::string, std::string> blocks;
  std::istringstream lines(content(kTable));
  std::string* block = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) block = nullptr;
    if (line.starts_with("### ")) {
      block = &blocks[line.substr(4, line.find(": ") - 4)];
    }
    if (block != nullptr) *block += line + "\n";
  }
  for (auto& [title, text] : blocks) text.erase(text.find_last_not_of('\n') + 1);
  return blocks;
}

/// Collects the blocks of all cases, and writes them as a table at the end.
class TableWriter : public testing::Environment {
 public:
  static std::map<std::string, std::string>& blocks() {
    static std::map<std::string, std::string> all = read_table();
    return all;
  }
  void TearDown() override {
    if (!writes_table()) return;
    std::ofstream out(kTable);
    out << "# What the program says of odd inputs\n\n"
           "Each block: the input and what is odd about it, the command and its exit code, its "
           "message, and the exit codes\nof the other commands that read such input. Written and "
           "checked by corpus_test.cpp; the inputs are in inputs/.\n";
    for (const json& kind : kinds()) {
      out << "\n## " << kind.at("title").get<std::string>() << "\n";
      for (const auto& [name, what] : kind.at("inputs").items()) {
        out << "\n" << blocks()[Case{kind, name, what}.title()] << "\n";
      }
    }
  }
};

const auto* const kTableWriter = testing::AddGlobalTestEnvironment(new TableWriter);

/// What a command says of its input: verdicts and findings of standard output, and messages and
/// warnings of standard error without their times.
std::string said(const std::string& command, const Ended& ended) {
  std::string text;
  if (command.starts_with("analyze")) {
    text = ended.out.substr(std::min(ended.out.find("Findings\n"), ended.out.size()));
  } else if (!command.starts_with("run") && !command.starts_with("evaluate")) {
    text = ended.out;
  }
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);) {
    const bool is_progress = line.starts_with("[");
    const std::size_t warning = line.find("WARNING: ");
    if (is_progress && warning == std::string::npos) continue;
    text += (is_progress ? line.substr(warning) : line) + "\n";
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Corpus : public outside::ProgramTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    const json& kind = GetParam().kind;
    const fs::path inputs = fs::path(kFolder) / "inputs";
    fs::create_directory(work());
    fs::copy(inputs / "base" / kind.at("base").get<std::string>(), work(),
             fs::copy_options::recursive);
    for (const std::string command : kind.value("setup", json::array())) {
      const Ended ended = call(command);
      ASSERT_THAT(ended.status, testing::AnyOf(0, 6)) << ended.err;
    }
    const std::string file = GetParam().name + kind.at("suffix").get<std::string>();
    for (const std::string place : kind.at("places")) {
      fs::create_directories((work() / place).parent_path());
      fs::copy_file(inputs / kind.at("kind").get<std::string>() / file, work() / place,
                    fs::copy_options::overwrite_existing);
    }
  }
  fs::path work() const { return folder_ / "lab"; }

  /// Whatever the input, a command ends by itself and in its own words.
  Ended call(const std::string& command) const {
    SCOPED_TRACE(command);
    const Ended ended = shell(fmt::format("cd {} && " TRAINMARK " {}", work().string(), command));
    EXPECT_GE(ended.status, 0) << "ended by a signal";
    EXPECT_LE(ended.status, 10) << ended.err;
    EXPECT_NE(ended.status, 1) << ended.err;
    for (const char* const word :
         {"AddressSanitizer", "LeakSanitizer", "runtime error:", "json.exception",
          "filesystem error", "std::", "HDF5-DIAG", "bad_alloc", "basic_"}) {
      EXPECT_THAT(ended.err, Not(HasSubstr(word)));
    }
    for (const char one : ended.out + ended.err) {
      EXPECT_TRUE(one == '\n' || static_cast<unsigned char>(one) >= ' ') << static_cast<int>(one);
    }
    return ended;
  }
};

TEST_P(Corpus, IsReadOrRefusedInPlainWords) {
  const json& kind = GetParam().kind;
  const std::string shown = kind.at("shown");
  const Ended ended = call(shown);
  std::string block = fmt::format("### {}: {}\n\n`{}`: {}\n\n", GetParam().title(), GetParam().what,
                                  shown, ended.status);
  std::istringstream lines(said(shown, ended));
  for (std::string line; std::getline(lines, line);) {
    block += line.empty() ? "\n" : "    " + line + "\n";
  }
  for (const std::string command : kind.at("others")) {
    block += fmt::format("\n`{}`: {}", command, call(command).status);
  }
  block.erase(block.find_last_not_of('\n') + 1);
  TableWriter::blocks()[GetParam().title()] = block;
  if (writes_table()) return;
  EXPECT_EQ(block, read_table()[GetParam().title()]);
}

INSTANTIATE_TEST_SUITE_P(Inputs, Corpus, testing::ValuesIn(cases()), [](const auto& one) {
  return one.param.kind.at("kind").template get<std::string>() + "_" + one.param.name;
});

TEST(CorpusTable, HasEveryInputOnce) {
  const auto table = read_table();
  std::size_t files = 0;
  for (const Case& one : cases()) {
    EXPECT_TRUE(table.contains(one.title())) << one.title();
    EXPECT_TRUE(fs::exists(fs::path(kFolder) / "inputs" /
                           (one.title() + one.kind.at("suffix").get<std::string>())));
  }
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(kFolder) / "inputs")) {
    const bool is_base = entry.path().string().find("/inputs/base/") != std::string::npos;
    if (entry.is_regular_file() && !is_base) ++files;
  }
  EXPECT_EQ(table.size(), cases().size());
  EXPECT_EQ(files, cases().size());
}

}  // namespace

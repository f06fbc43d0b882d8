// A run set's definition: created once, and compared with later launches.
#include "runner/set_file.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/run_config.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SetFileTest : public testing::Test {
 protected:
  static SetDefinition wanted() {
    SetDefinition set;
    set.runs = 5;
    set.master_seed = 7;
    set.ranks = 2;
    set.config = {{"seed", 7}, {"epochs", 3}, {"results", {{"directory", "a"}}}};
    return set;
  }
  /// The error of open_set() for `other` in the folder of wanted().
  std::string refusal(const SetDefinition& other) {
    open_set(folder_, wanted());
    try {
      open_set(folder_, other);
      return "";
    } catch (const base::ConfigError& e) {
      return e.what();
    }
  }
  const base::TemporaryDirectory directory_;
  const std::string folder_ = directory_.path() / "box";
};

TEST_F(SetFileTest, IsTheSameForAllThatWantIt) {
  const SetDefinition made = open_set(folder_, wanted());
  const SetDefinition found = open_set(folder_, wanted());
  EXPECT_EQ(found.master_seed, 7U);
  EXPECT_EQ(found.runs, 5);
  EXPECT_EQ(found.config["epochs"], 3);
  for (std::int64_t member = 1; member <= 5; ++member) {
    EXPECT_EQ(member_seed(made, member), derive_seeds(7, 5)[static_cast<std::size_t>(member - 1)]);
  }
}

TEST_F(SetFileTest, IsTheSameWhereAKeyHadItsOldName) {
  SetDefinition before = wanted(), now = wanted();
  before.config["training"] = {{"bn_group_size", 4}};
  now.config["training"] = {{"bn_group_samples", 4}};
  open_set(folder_, before);
  EXPECT_EQ(open_set(folder_, now).config["training"], now.config["training"]);
  now.config["training"]["bn_group_samples"] = 2;
  EXPECT_THROW(open_set(folder_, now), base::ConfigError);
}

TEST_F(SetFileTest, HasOneDrawnSeedForAllProcessesThatWantAny) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    SetDefinition any = wanted();
    any.master_seed = 0;
    std::ofstream(folder_ + "." + std::to_string(i)) << open_set(folder_, any).master_seed;
    _exit(0);
  }
  std::set<std::string> seeds;
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 1;
    waitpid(children[i], &status, 0);
    EXPECT_EQ(status, 0);
    seeds.insert(base::content(folder_ + "." + std::to_string(i)));
  }
  EXPECT_EQ(seeds.size(), 1U);
  EXPECT_FALSE(seeds.contains("0"));
}

TEST_F(SetFileTest, RefusesAnotherSetAndSaysWhatToDo) {
  SetDefinition other = wanted();
  other.config["epochs"] = 4;
  EXPECT_THAT(refusal(other),
              HasSubstr("/epochs: expected 3, as the set in this folder has, found 4"));
  EXPECT_THAT(refusal(other), HasSubstr("results.directory"));
  other = wanted();
  other.runs = 6;
  EXPECT_THAT(refusal(other), HasSubstr("--runs: expected 5"));
  other = wanted();
  other.master_seed = 8;
  EXPECT_THAT(refusal(other), HasSubstr("/seed: expected 7"));
  other = wanted();
  other.ranks = 1;
  EXPECT_THAT(refusal(other), HasSubstr("ranks: expected 2"));
  other = wanted();
  other.kind = SetKind::kTogether;
  EXPECT_THAT(refusal(other), HasSubstr("--together"));
}

TEST_F(SetFileTest, TakesFilesThatLieElsewhereForTheSameSet) {
  SetDefinition other = wanted();
  other.config["results"]["directory"] = "b";
  other.config["checkpoint"] = {{"directory", "c"}};
  EXPECT_EQ(refusal(other), "");
}

TEST_F(SetFileTest, NamesADamagedFile) {
  open_set(folder_, wanted());
  std::ofstream(set_path(folder_)) << "{\"schema\": 1, \"config\": {}}\n";
  EXPECT_THROW(open_set(folder_, wanted()), base::DataError);
  std::ofstream(set_path(folder_)) << "not JSON\n";
  EXPECT_THROW(open_set(folder_, wanted()), base::DataError);
}

}  // namespace
}  // namespace runner

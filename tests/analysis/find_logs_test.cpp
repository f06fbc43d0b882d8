// Finding the log files that paths name.
#include "analysis/find_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "analysis/golden.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::find_logs;
using analysis::natural_less;

std::vector<std::string> names_in(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& log : find_logs(paths).logs) names.push_back(log.name);
  return names;
}

TEST(NaturalLess, OrdersNumbersByValue) {
  EXPECT_TRUE(natural_less("result_2.txt", "result_10.txt"));
  EXPECT_FALSE(natural_less("result_10.txt", "result_2.txt"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("result_01.txt", "result_1.txt"));
  EXPECT_FALSE(natural_less("x", "x"));
}

TEST(FindLogs, TakesResultsAtAnyDepthInOrder) {
  const base::TemporaryDirectory folder;
  for (const char* name : {"b/result_10.txt", "b/result_2.txt", "a/x/result_1_of_run.txt"}) {
    folder.write(name, "");
  }
  folder.write("b/result_1.telemetry.json", "{}");
  folder.write("b/compliance_1.out", "");
  EXPECT_THAT(names_in({folder.path().string()}),
              testing::ElementsAre("a/x/result_1_of_run.txt", "b/result_2.txt", "b/result_10.txt"));
}

TEST(FindLogs, PassesOverNoLogInSilence) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", "");
  std::filesystem::create_directory(folder.path() / "result_2.txt");
  std::filesystem::create_symlink("gone", folder.path() / "result_3.txt");
  ASSERT_EQ(::mkfifo((folder.path() / "result_4.txt").c_str(), 0600), 0);
  const auto found = find_logs({folder.path().string()});
  EXPECT_EQ(found.logs.size(), 1u);
  std::map<std::string, std::string> problems;
  for (const auto& one : found.problems) {
    problems[std::filesystem::path(one.path).filename()] = one.reason;
    EXPECT_FALSE(one.missing);
  }
  EXPECT_THAT(problems, testing::ElementsAre(
                            testing::Pair("result_3.txt", "is a link that leads nowhere"),
                            testing::Pair("result_4.txt",
                                          "expected a regular file, found a pipe or device")));
}

TEST(FindLogs, TakesAFileWhateverItsName) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("some.log", "");
  EXPECT_THAT(names_in({path}), testing::ElementsAre("some.log"));
}

TEST(FindLogs, NamesLogsOfSeveralPathsByWhatDiffersAndTakesAFileOnce) {
  const base::TemporaryDirectory folder;
  folder.write("a/result_1.txt", "");
  folder.write("b/result_1.txt", "");
  const std::string a = folder.path() / "a", b = folder.path() / "b";
  EXPECT_THAT(names_in({a, b + "/", b + "/result_1.txt"}),
              testing::ElementsAre("a/result_1.txt", "b/result_1.txt"));
  EXPECT_THAT(names_in({a + "/result_1.txt", folder.path().string()}),
              testing::ElementsAre((folder.path().filename() / "a/result_1.txt").generic_string(),
                                   (folder.path().filename() / "b/result_1.txt").generic_string()));
  EXPECT_THAT(names_in({"tests/analysis/data/success", a}),
              testing::UnorderedElementsAre("tests/analysis/data/success/result_1.txt",
                                            a + "/result_1.txt"));
}

TEST(FindLogs, TellsOfPathsWithoutLogs) {
  const base::TemporaryDirectory folder;
  const auto found = find_logs({folder.path().string(), "/no/such/path"});
  EXPECT_TRUE(found.logs.empty());
  ASSERT_EQ(found.problems.size(), 2u);
  EXPECT_TRUE(found.problems[0].missing);
  EXPECT_TRUE(found.problems[1].missing);
}

TEST(FindLogs, ExpandsPatternsAsAShellDoes) {
  const base::TemporaryDirectory folder;
  for (const char* name : {"a/result_1.txt", "ab/result_1.txt", "c/result_1.txt", "x.log"}) {
    folder.write(name, "");
  }
  const std::string root = folder.path().string();
  EXPECT_EQ(names_in({root + "/a*"}).size(), 2u);
  EXPECT_THAT(names_in({root + "/{c,a}"}),
              testing::ElementsAre("a/result_1.txt", "c/result_1.txt"));
  EXPECT_THAT(names_in({root + "/?.log"}), testing::ElementsAre("x.log"));
  const auto none = find_logs({root + "/*.txt"});
  ASSERT_EQ(none.problems.size(), 1u);
  EXPECT_TRUE(none.problems[0].missing);
}

TEST(FindLogs, TakesANameThatLooksLikeAPatternForWhatItIs) {
  const base::TemporaryDirectory folder;
  folder.write("[ab]/result_1.txt", "");
  folder.write("a/result_1.txt", "");
  EXPECT_THAT(names_in({(folder.path() / "[ab]").string()}), testing::ElementsAre("result_1.txt"));
}

TEST(FindLogs, DoesNotFollowALinkInACircle) {
  const base::TemporaryDirectory folder;
  folder.write("a/result_1.txt", "");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "a" / "again");
  EXPECT_EQ(names_in({folder.path().string()}).size(), 1u);
}

}  // namespace

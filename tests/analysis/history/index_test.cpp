// The index of past runs: updates, queries, rebuilding.
#include "analysis/history/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "analysis/golden.h"
#include "analysis/history/database.h"
#include "analysis/oddities.h"
#include "analysis/own_log.h"
#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

namespace fs = std::filesystem;
using analysis::history::Index;
using analysis::history::PastRun;
using analysis::history::Query;
using analysis::history::Update;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class HistoryIndex : public testing::Test {
 protected:
  /// A run `day` days after the first.
  void write(const std::string& name, double day, const json& config = nullptr) {
    own_log::Log log = own_log::clean();
    for (json& one : log.records) own_log::move(one, day * 86400e3);
    folder_.write(name, log.text());
    if (!config.is_null()) {
      const fs::path path = fs::path(name).replace_extension(".config.json");
      folder_.write(path.string(), config.dump());
    }
  }
  Update update(bool anew = false) { return Index(file_).update(folder_.path(), anew, 1); }
  std::vector<std::string> find(const Query& query = {}) {
    std::vector<std::string> logs;
    for (const PastRun& run : Index(file_).find(query)) logs.push_back(run.log);
    return logs;
  }
  base::TemporaryDirectory folder_;
  const fs::path file_ = folder_.path() / Index::kFile;
};

TEST_F(HistoryIndex, KeepsTheFactsOfARun) {
  write("box/cosmoflow/result_1.txt", 1, {{"optimizer", {{"name", "lars"}}}, {"seed", 5}});
  json telemetry = json::parse(golden::telemetry_text());
  telemetry["provenance"]["build"]["revision"] = "abcdef-dirty";
  folder_.write("box/cosmoflow/result_1.telemetry.json", telemetry.dump());
  EXPECT_EQ(update().read, 1);
  const auto runs = Index(file_).find({});
  ASSERT_EQ(runs.size(), 1u);
  const PastRun& run = runs[0];
  EXPECT_EQ(run.log, "box/cosmoflow/result_1.txt");
  EXPECT_EQ(run.workload, "cosmoflow");
  EXPECT_EQ(run.system, "box");
  EXPECT_EQ(run.outcome, "success");
  EXPECT_TRUE(run.succeeded());
  EXPECT_EQ(run.started_ms, static_cast<std::int64_t>(own_log::kStartMs) + 86400000 + 1000);
  EXPECT_EQ(run.ttt_s, own_log::kRunS);
  EXPECT_EQ(run.epochs, 3.0);
  EXPECT_DOUBLE_EQ(*run.train_throughput, 3 * 524288 / 27.0);
  EXPECT_EQ(run.best_quality, 0.03);
  EXPECT_EQ(run.revision, "abcdef-dirty");
  EXPECT_EQ(run.settings.at("optimizer.name"), "lars");
  EXPECT_EQ(run.settings.at("ranks"), std::to_string(telemetry["ranks"].size()));
}

TEST_F(HistoryIndex, FollowsTheFiles) {
  write("box/cosmoflow/result_1.txt", 1);
  write("box/cosmoflow/result_2.txt", 2);
  EXPECT_EQ(update().read, 2);
  Update again = update();
  EXPECT_EQ(again.read, 0);
  EXPECT_EQ(again.kept, 2);
  write("box/cosmoflow/result_3.txt", 3);
  fs::remove(folder_.path() / "box/cosmoflow/result_1.txt");
  folder_.write("box/cosmoflow/result_2.config.json", R"({"seed":1})");
  again = update();
  EXPECT_EQ(again.read, 2);
  EXPECT_EQ(again.kept, 0);
  EXPECT_EQ(again.forgotten, 1);
  EXPECT_THAT(find(), ElementsAre("box/cosmoflow/result_3.txt", "box/cosmoflow/result_2.txt"));
  EXPECT_EQ(update(true).read, 2);
}

TEST_F(HistoryIndex, FindsWhatIsAsked) {
  write("box/cosmoflow/result_1.txt", 1, {{"batch", 64}, {"lr", 0.1}});
  write("box/cosmoflow/result_2.txt", 2, {{"batch", 128}, {"lr", 0.1}});
  write("rack/cosmoflow/result_1.txt", 3, {{"batch", 64}, {"lr", 0.2}});
  own_log::Log aborted = own_log::clean("deepcam");
  aborted["run_stop"]["metadata"]["status"] = "aborted";
  folder_.write("rack/deepcam/result_1.txt", aborted.text());
  update();
  const std::string one = "box/cosmoflow/result_1.txt", two = "box/cosmoflow/result_2.txt",
                    three = "rack/cosmoflow/result_1.txt", four = "rack/deepcam/result_1.txt";
  EXPECT_THAT(find(), ElementsAre(three, two, one, four));
  Query query;
  query.workload = "deepcam";
  EXPECT_THAT(find(query), ElementsAre(four));
  query = {};
  query.system = "rack";
  query.outcome = "success";
  EXPECT_THAT(find(query), ElementsAre(three));
  query = {};
  query.settings = {{"batch", "64"}};
  EXPECT_THAT(find(query), ElementsAre(three, one));
  query.settings.emplace_back("lr", "0.1");
  EXPECT_THAT(find(query), ElementsAre(one));
  query = {};
  query.since_ms = static_cast<std::int64_t>(own_log::kStartMs) + 2 * 86400000;
  EXPECT_THAT(find(query), ElementsAre(three, two));
  query = {};
  query.text = "result_2";
  EXPECT_THAT(find(query), ElementsAre(two));
  query = {};
  query.revision = "abc";
  EXPECT_THAT(find(query), IsEmpty());
  query = {};
  query.workload = "' OR 1 --";  // texts of a query are never part of the SQL statement
  EXPECT_THAT(find(query), IsEmpty());
}

TEST_F(HistoryIndex, IsMadeAnewWhereItIsNone) {
  write("box/cosmoflow/result_1.txt", 1);
  update();
  const std::string whole = base::content(file_);
  for (const std::string& damaged :
       {std::string("no database"), whole.substr(0, whole.size() / 2), std::string(4096, '\0')}) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << damaged;
    const Update rebuilt = update();
    EXPECT_EQ(rebuilt.read, 1);
    EXPECT_NE(rebuilt.rebuilt_because, "");
    EXPECT_EQ(find().size(), 1u);
  }
  EXPECT_EQ(update().rebuilt_because, "");
}

TEST_F(HistoryIndex, IsMadeAnewWhereItHoldsWhatThisProgramDoesNotWrite) {
  write("box/cosmoflow/result_1.txt", 1);
  for (const char* const change :
       {"DROP TABLE settings", "DROP TABLE settings; DROP TABLE runs; CREATE TABLE runs (log TEXT)",
        "DROP TABLE settings; DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE r(log) AS "
        "(SELECT 1 UNION ALL SELECT log + 1 FROM r) SELECT log, log AS stamp FROM r",
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET ttt_s = 1; END",
        "UPDATE runs SET log = CAST(log AS BLOB)", "UPDATE runs SET ttt_s = 'fast'",
        "PRAGMA user_version = 77"}) {
    update();
    analysis::history::Database(file_.string()).run(change);
    const Update rebuilt = update();
    EXPECT_NE(rebuilt.rebuilt_because, "") << change;
    EXPECT_EQ(rebuilt.read, 1) << change;
    const auto runs = Index(file_).find({});
    ASSERT_EQ(runs.size(), 1u) << change;
    EXPECT_EQ(runs[0].ttt_s, own_log::kRunS) << change;
  }
}

TEST_F(HistoryIndex, IsNeverWrittenThroughALink) {
  write("box/cosmoflow/result_1.txt", 1);
  const base::TemporaryDirectory elsewhere;
  const fs::path victim = elsewhere.path() / "victim";
  for (const bool exists : {false, true}) {
    if (exists) elsewhere.write("victim", "");
    fs::create_symlink(victim, file_);
    EXPECT_THAT(update().rebuilt_because, testing::HasSubstr("is a link"));
    EXPECT_EQ(fs::exists(victim), exists);
    EXPECT_EQ(base::content(victim), "");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_)));
    EXPECT_EQ(find().size(), 1u);
    fs::remove(file_);
  }
  fs::create_directory_symlink(folder_.path(), elsewhere.path() / "results");
  Index linked(elsewhere.path() / "results" / Index::kFile);
  EXPECT_EQ(linked.update(folder_.path(), false, 1).read, 1) << "a folder may be a link";
}

TEST_F(HistoryIndex, TellsOfWhatCannotBeReadAndKeepsTheRest) {
  write("box/cosmoflow/result_1.txt", 1);
  write("box/cosmoflow/result_2.txt", 2, json::array({1}));
  const Update first = update();
  EXPECT_EQ(first.read, 1);
  ASSERT_EQ(first.problems.size(), 1u);
  EXPECT_THAT(first.problems[0], testing::HasSubstr("result_2.config.json"));
  EXPECT_THAT(find(), ElementsAre("box/cosmoflow/result_1.txt"));
}

TEST_F(HistoryIndex, KeepsNoRunOfAFileThatIsNoLog) {
  write("box/cosmoflow/result_1.txt", 1);
  write("box/cosmoflow/result_2.txt", 2);
  folder_.write("box/cosmoflow/result_3.txt", "");  // a run that has just begun
  EXPECT_EQ(update().read, 3);
  folder_.write("box/cosmoflow/result_2.txt", std::string(100000, '\0'));
  const Update second = update();
  EXPECT_EQ(second.read, 0);
  EXPECT_EQ(second.kept, 2);
  EXPECT_THAT(
      second.problems,
      ElementsAre(testing::HasSubstr("result_2.txt: expected lines with ':::MLLOG ', found ")));
  EXPECT_THAT(find(), ElementsAre("box/cosmoflow/result_1.txt", "box/cosmoflow/result_3.txt"));
}

TEST_F(HistoryIndex, NeverReplacesWhatIsNoIndex) {
  write("box/cosmoflow/result_1.txt", 1);
  const fs::path log = folder_.path() / "box/cosmoflow/result_1.txt";
  const std::string before = base::content(log);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { const Index index(log); }),
              testing::HasSubstr("expected an index of runs, or no file"));
  EXPECT_EQ(base::content(log), before);
  const fs::path foreign = folder_.path() / "foreign.sqlite";
  analysis::history::Database(foreign.string()).run("CREATE TABLE t (x); PRAGMA user_version = 1");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { const Index index(foreign); }),
              testing::HasSubstr("the database of another program"));
}

TEST_F(HistoryIndex, IsSafeWithSeveralWritersAtOnce) {
  for (int i = 0; i < 20; ++i) write("box/cosmoflow/result_" + std::to_string(i) + ".txt", i);
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      try {
        Index index(file_);
        for (int round = 0; round < 3; ++round) index.update(folder_.path(), true, 1);
        if (index.find({}).size() != 20) ++failed;
      } catch (const std::exception&) {
        ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(find().size(), 20u);
}

}  // namespace

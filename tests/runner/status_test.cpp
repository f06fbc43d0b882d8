// The status of a running job, observed from another shell.
#include <signal.h>

#include <nlohmann/json.hpp>

#include "runner/base/temporary_directory.h"
#include "runner/small_run.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Ended;
using outside::Started;
using testing::HasSubstr;

class RunningStatus : public outside::SmallRun {
 protected:
  /// Runs until it is ended: the target is impossible, since four images may be classified by
  /// chance.
  json endless() const {
    json object = config();
    object["epochs"] = 100000;
    object["target"] = {{"quality", 2.0}};
    return object;
  }
  json look() const {
    const base::TemporaryDirectory place;
    const Ended seen = outside::shell(
        TRAINMARK " status " + (folder_ / "results").string() + " --json -", place.path());
    if (seen.status != 0) return nullptr;
    return json::parse(seen.out)["runs"].at(0);
  }
};

TEST_F(RunningStatus, TellsOfARunOnTwoRanksAndOfItsEnd) {
  const Started run = start(outside::mpirun(2) + TRAINMARK " run " + saved(endless()));
  json seen;
  const bool trains = comes([&] {
    if (!fs::exists(result("1.txt"))) return false;
    seen = look();
    return seen.is_object() && seen["steps_done"].is_number() && seen["steps_done"] > 20;
  });
  ASSERT_TRUE(trains) << seen;
  EXPECT_EQ(seen["state"], "running");
  EXPECT_EQ(seen["ranks"], 2);
  EXPECT_EQ(seen["epochs"], 100000.0);
  EXPECT_GT(seen["samples_per_s"].get<double>(), 0.0);
  EXPECT_GT(seen["limit_s"].get<double>(), seen["elapsed_s"].get<double>());
  double sum = 0.0;
  for (const auto& [part, seconds] : seen["parts"].items()) sum += seconds.get<double>();
  EXPECT_GT(sum, 0.0);
  EXPECT_LE(sum, seen["elapsed_s"].get<double>() + 0.5);

  ASSERT_EQ(::kill(static_cast<pid_t>(seen["process"].get<int>()), SIGTERM), 0);
  EXPECT_EQ(outside::wait(run).status, 7);
  EXPECT_FALSE(fs::exists(result("1.live.json")));
  EXPECT_EQ(look()["state"], "ended");
  EXPECT_EQ(look()["outcome"], "aborted");
}

TEST_F(RunningStatus, KnowsThatAKilledRunIsGone) {
  const Started run = start(outside::mpirun(1) + TRAINMARK " run " + saved(endless()));
  json seen;
  ASSERT_TRUE(comes([&] {
    if (!fs::exists(result("1.live.json"))) return false;
    seen = look();
    return seen.is_object() && seen["process"].is_number() && seen["process"] > 0;
  })) << seen;
  ASSERT_EQ(::kill(static_cast<pid_t>(seen["process"].get<int>()), SIGKILL), 0);
  outside::wait(run);
  EXPECT_EQ(look()["state"], "gone");
}

}  // namespace

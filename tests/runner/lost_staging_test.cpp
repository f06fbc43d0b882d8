// Tests of what a job that lost a rank during staging leaves on node-local storage.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/small_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kTargetMissed;
using outside::mpirun;
using outside::Started;
using outside::wait;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kStopped = 7;

using LostStaging = outside::SmallRun;

std::int64_t staged_bytes(const fs::path& telemetry) {
  std::int64_t bytes = 0;
  const json report = json::parse(content(telemetry));
  for (const json& rank : report["ranks"]) {
    bytes += rank["counters"]["bytes_staged"].get<std::int64_t>();
  }
  return bytes;
}

/// The packs below `folder` that are complete.
std::int64_t packs_below(const fs::path& folder) {
  std::int64_t packs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    packs += name.starts_with("pack-") && name.find(".part.") == std::string::npos ? 1 : 0;
  }
  return packs;
}

TEST_F(LostStaging, LeavesWholePacksWithWhichTheNextRunGoesOn) {
  const Started job = start(outside::mpirun_with_stuck_file(2, last_image("data/train")) +
                            TRAINMARK " run " + saved(config()));
  ASSERT_TRUE(comes([this] {
    // The folder is created after the record. Rank 1 never finishes its last pack.
    return content(result("1.txt")).find("staging_start") != std::string::npos &&
           fs::exists(folder_ / "near") && packs_below(folder_ / "near") > 0;
  }));
  const pid_t victim = process_of(1);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  const Ended run = wait(job);
  EXPECT_EQ(run.status, outside::kKilledStatus) << run.err;
  EXPECT_TRUE(all_end());
  if (outside::kWarnsRanks) {
    EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr("aborted"),
                                     HasSubstr("told to end by SIGTERM during staging")));
  }
  EXPECT_GT(packs_below(folder_ / "near"), 0);
  const Ended next = shell(mpirun(2) + TRAINMARK " run " + saved(config()));
  EXPECT_EQ(next.status, kTargetMissed) << next.err;
  EXPECT_TRUE(fs::is_empty(folder_ / "near"));
  // A run that finds nothing copies more.
  ASSERT_EQ(shell(mpirun(2) + TRAINMARK " run " + saved(config())).status, kTargetMissed);
  EXPECT_GT(staged_bytes(result("2.telemetry.json")), 0);
  EXPECT_LT(staged_bytes(result("2.telemetry.json")), staged_bytes(result("3.telemetry.json")));
  // The staged copy equals the dataset: training ends with the same bits.
  json unstaged = config();
  unstaged["staging"]["mode"] = "stream";
  ASSERT_EQ(shell(mpirun(2) + TRAINMARK " run " + saved(unstaged)).status, kTargetMissed);
  EXPECT_EQ(content(result("2.weights.h5")), content(result("4.weights.h5")));
}

class LostCopies : public LostStaging {
 protected:
  /// The copies in the staging folder, as the program lists them.
  std::vector<json> copies(const std::string& what = "--list") const {
    const Ended told = shell(TRAINMARK " stage " + saved(config()) + " " + what + " --json -");
    EXPECT_EQ(told.status, 0) << told.err;
    return json::parse(told.out).at("copies");
  }

  /// A job that is killed while it trains.
  void lose_a_job() {
    json endless = config();
    endless["epochs"] = 100000;
    const Started job = start(mpirun(2) + TRAINMARK " run " + saved(endless));
    ASSERT_TRUE(
        comes([this] { return content(result("1.txt")).find("epoch_stop") != std::string::npos; }));
    ASSERT_EQ(::kill(process_of(1), SIGKILL), 0);
    EXPECT_EQ(wait(job).status, outside::kKilledStatus);
    EXPECT_TRUE(all_end());
  }
};

TEST_F(LostCopies, AreRemovedByTheNextRunOnTheNode) {
  lose_a_job();
  const auto left = copies();
  ASSERT_EQ(left.size(), 2U);  // training and validation
  for (const json& copy : left) {
    EXPECT_EQ(copy["is_kept"], false);
    EXPECT_EQ(copy["is_used"], false);
    EXPECT_THAT(copy["made_by"].get<std::string>(), HasSubstr("process "));
  }
  ASSERT_EQ(generate("other", images(5)).status, 0);
  json other = config();
  for (const char* part : {"train", "validation"}) {
    other["dataset"][part] = (folder_ / "other" / part).string();
  }
  EXPECT_EQ(shell(TRAINMARK " run " + saved(other)).status, kTargetMissed);
  EXPECT_TRUE(fs::is_empty(folder_ / "near"));
}

using StoppedStaging = LostCopies;

TEST_F(StoppedStaging, KeepsWhatIsCopiedAndGoesOnWithTheSameCommand) {
  const std::string stage = TRAINMARK " stage " + saved(config());
  const auto told = [&](int rank, int opening, int ranks) {
    return shell(mpirun(ranks) +
                 "env ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=" SHIM
                 " TRAINMARK_TEST_FAULT=" +
                 std::to_string(rank) + ":told:" + std::to_string(opening) + " " + stage);
  };
  const Ended here = told(0, 1, 1);
  EXPECT_EQ(here.status, kStopped) << here.err;
  EXPECT_THAT(here.err, HasSubstr("trainmark: stage: stopped by SIGTERM: what is copied stays, "
                                  "and the same command goes on from there"));
  EXPECT_EQ(here.out, "");
  ASSERT_EQ(copies().size(), 1U);
  EXPECT_EQ(copies()[0]["is_complete"], false);

  const Ended other = told(1, 1, 2);
  EXPECT_EQ(other.status, kStopped) << other.err;
  EXPECT_THAT(other.err, HasSubstr("stopped by a signal to another rank"));
  EXPECT_GT(copies()[0]["samples"], 0);

  // Each run copies a pack or more, until the validation set begins: the training set is complete
  // by then.
  for (int run = 0; run < 20 && copies().size() < 2; ++run) {
    const auto packs = packs_below(folder_ / "near");
    const Ended later = told(0, 2, 1);
    ASSERT_EQ(later.status, kStopped) << later.err;
    EXPECT_GT(packs_below(folder_ / "near") + std::ssize(copies()), packs + 1);
  }
  ASSERT_EQ(copies().size(), 2U);
  const Ended rest = shell(stage + " --json -");
  ASSERT_EQ(rest.status, 0) << rest.err;
  const json facts = json::parse(rest.out);
  EXPECT_EQ(facts["train"]["source_reads"], 0);
  EXPECT_GT(facts["validation"]["source_reads"], 0);
  for (const json& copy : copies()) EXPECT_EQ(copy["is_complete"], true);
}

TEST_F(LostCopies, StayWhereTheyWereStagedAheadUntilTheyAreRemovedByHand) {
  const std::string here = saved(config());
  ASSERT_EQ(shell(TRAINMARK " stage " + here).status, 0);
  EXPECT_EQ(shell(TRAINMARK " run " + here).status, kTargetMissed);
  ASSERT_EQ(copies().size(), 2U);
  fs::create_directories(folder_ / "near/precious");
  for (const json& copy : copies("--clean")) EXPECT_EQ(copy["is_removed"], true);
  EXPECT_TRUE(copies().empty());
  EXPECT_TRUE(fs::exists(folder_ / "near/precious"));
}

}  // namespace

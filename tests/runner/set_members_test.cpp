// Members of a run set: their states, and claims by processes that race, die, or live elsewhere.
#include "runner/set_members.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"
#include "runner/result_files.h"
#include "runner/set_owner.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Fast signs of life for tests.
constexpr SetTimes kFast{0.02, 0.3, 0.01};

class SetMembersTest : public testing::Test {
 protected:
  SetMembers members(std::int64_t runs = 4) { return {folder_.string(), runs, clock_, kFast}; }

  /// A child claims the member, runs `work`, and dies as if killed. Returns its process number.
  pid_t killed_owner(std::int64_t member, const std::function<void(MemberClaim&)>& work) {
    const pid_t child = fork();
    if (child == 0) {
      SetMembers set = members();
      auto claim = set.claim(set.look(member));
      work(*claim);
      _exit(0);  // no destructor runs
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return child;
  }

  /// Makes the newest attempt's owner appear on another host.
  void move_owner_elsewhere(std::int64_t member) {
    const std::string path = attempt_path(folder_, member, 1, kAttemptFile);
    Attempt attempt = parse_attempt(base::content(path), path);
    attempt.owner.host = "elsewhere";
    attempt.owner.kernel = "another";
    std::ofstream(path) << to_text(attempt);
  }

  const base::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
  const base::SystemClock clock_;
};

TEST_F(SetMembersTest, GoFromWaitingOverRunningToFinished) {
  SetMembers set = members();
  EXPECT_EQ(set.look(2).state, MemberState::kWaiting);
  auto claim = set.claim(set.look(2));
  ASSERT_TRUE(claim);
  claim->set_result(7);
  EXPECT_EQ(set.look(2).state, MemberState::kRunning);
  EXPECT_EQ(set.look(2).last->result, 7);
  claim->finish({MemberStatus::kDiverged, "the loss is not finite", base::ExitCode::kTargetMissed});
  claim.reset();
  const Member member = set.look()[1];
  EXPECT_EQ(member.state, MemberState::kFinished);
  EXPECT_EQ(member.end->reason, "the loss is not finite");
  EXPECT_EQ(set.look()[0].state, MemberState::kWaiting);
}

TEST_F(SetMembersTest, AreClaimedByOneOfSixteenProcessesEach) {
  constexpr int kProcesses = 16, kRuns = 10;
  SetMembers set = members(kRuns);
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    char byte = 0;
    close(start[1]);
    if (read(start[0], &byte, 1) != 0) _exit(1);  // all begin when the pipe is closed
    for (const Member& member : to_run(set.look())) {
      if (auto claim = set.claim(member)) {
        std::ofstream(folder_ / ("won_" + std::to_string(member.number)), std::ios::app) << 'x';
        claim->finish({});
      }
    }
    _exit(0);
  }
  close(start[0]);
  close(start[1]);
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int member = 1; member <= kRuns; ++member) {
    EXPECT_EQ(base::content(folder_ / ("won_" + std::to_string(member))), "x") << member;
    EXPECT_EQ(set.look(member).state, MemberState::kFinished);
  }
}

TEST_F(SetMembersTest, AreCutOffAtOnceWhereTheirOwnerDiedOnThisHost) {
  SetMembers set = members();
  const pid_t owner = killed_owner(
      1, [&](MemberClaim& claim) { claim.set_result(ResultFiles::claim(folder_).number()); });
  const Member member = set.look(1);
  EXPECT_EQ(member.state, MemberState::kCutOff);
  EXPECT_EQ(member.last->owner.process, owner);
  EXPECT_THAT(member.end->reason, HasSubstr("ended without a word"));
  auto again = set.claim(member);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempt().number, 2);
  EXPECT_TRUE(fs::exists(folder_ / "cut_off" / "result_1.txt"));
  EXPECT_FALSE(fs::exists(folder_ / "result_1.txt"));
  EXPECT_FALSE(set.claim(member)) << "claimed before";
}

TEST_F(SetMembersTest, TellTheReasonThatTheLogOfACutOffRunHas) {
  SetMembers set = members();
  killed_owner(1, [&](MemberClaim& claim) {
    claim.set_result(1);
    std::ofstream(folder_ / "result_1.txt")
        << R"(:::MLLOG {"time_ms": 1, "key": "run_start", "value": null, "metadata": {}})" << '\n'
        << R"(:::MLLOG {"time_ms": 2, "key": "run_stop", "value": null, )"
        << R"("metadata": {"status": "aborted", "reason": "rank 1: no disk"}})" << std::endl;
  });
  EXPECT_EQ(set.look(1).state, MemberState::kCutOff);
  EXPECT_EQ(set.look(1).end->reason, "rank 1: no disk");
}

TEST_F(SetMembersTest, AreFinishedWhereTheLogHasSuccessThoughTheOwnerDiedThen) {
  SetMembers set = members();
  killed_owner(1, [&](MemberClaim& claim) {
    claim.set_result(1);
    std::ofstream(folder_ / "result_1.txt")
        << R"(:::MLLOG {"time_ms": 2, "key": "run_stop", "value": null, )"
        << R"("metadata": {"status": "success"}})" << std::endl;
  });
  EXPECT_EQ(set.look(1).state, MemberState::kFinished);
  EXPECT_EQ(set.look(1).end->status, MemberStatus::kSuccess);
}

TEST_F(SetMembersTest, RunOnAsLongAsAnOwnerElsewhereGivesSignsOfLife) {
  SetMembers set = members();
  auto claim = set.claim(set.look(1));
  move_owner_elsewhere(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  while (std::chrono::steady_clock::now() < end) {  // three times the permitted silence
    ASSERT_EQ(set.look(1).state, MemberState::kRunning);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_F(SetMembersTest, AreCutOffWhenAnOwnerElsewhereIsSilentForLong) {
  SetMembers set = members();
  killed_owner(1, [](MemberClaim&) {});
  move_owner_elsewhere(1);
  // Its last sign of life is still fresh.
  EXPECT_EQ(set.look(1).state, MemberState::kRunning);
  const auto began = std::chrono::steady_clock::now();
  while (set.look(1).state == MemberState::kRunning) {
    ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(200));
  EXPECT_EQ(set.look(1).state, MemberState::kCutOff);
}

TEST_F(SetMembersTest, TellAnOwnerThatWasTakenForDeadThatItCountsNoMore) {
  SetMembers set = members();
  auto claim = set.claim(set.look(1));
  EXPECT_FALSE(claim->is_superseded());
  Member silent = set.look(1);
  silent.state = MemberState::kCutOff;  // what another host believes
  auto other = set.claim(silent);
  ASSERT_TRUE(other);
  EXPECT_TRUE(claim->is_superseded());
  EXPECT_FALSE(other->is_superseded());
  claim->finish({});
  EXPECT_EQ(set.look(1).state, MemberState::kRunning) << "the newest attempt counts";
}

TEST_F(SetMembersTest, RunAgainAfterASignalOrAnErrorBeforeTheStart) {
  SetMembers set = members();
  for (const MemberStatus status : {MemberStatus::kStopped, MemberStatus::kNotStarted}) {
    set.claim(set.look(1))->finish({status, "why", base::ExitCode::kStopped});
    EXPECT_EQ(set.look(1).state, MemberState::kCutOff);
  }
  for (const MemberStatus status : {MemberStatus::kFailed, MemberStatus::kTargetMissed}) {
    const std::int64_t member = status == MemberStatus::kFailed ? 2 : 3;
    set.claim(set.look(member))->finish({status, "why", base::ExitCode::kData});
    EXPECT_EQ(set.look(member).state, MemberState::kFinished);
  }
}

TEST_F(SetMembersTest, ComeInTheOrderOfTheirAttempts) {
  SetMembers set = members();
  set.claim(set.look(1))->finish({MemberStatus::kStopped, "", base::ExitCode::kStopped});
  set.claim(set.look(3))->finish({});
  std::vector<std::int64_t> order;
  for (const Member& member : to_run(set.look())) order.push_back(member.number);
  EXPECT_THAT(order, ElementsAre(2, 4, 1));
}

TEST_F(SetMembersTest, NameADamagedFile) {
  SetMembers set = members();
  std::ofstream(attempt_path(folder_, 1, 1, kAttemptFile)) << "{\"schema\": 1}\n";
  try {
    set.look();
    FAIL();
  } catch (const base::DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("member_1.attempt_1.json"));
  }
}

TEST(SetOwner, IsAliveDeadOrUnknown) {
  SetOwner owner = this_process();
  EXPECT_EQ(life_from_here(owner), Life::kAlive);
  ++owner.process_start;  // its number now belongs to another process
  EXPECT_EQ(life_from_here(owner), Life::kDead);
  owner.kernel = "another host's";
  EXPECT_EQ(life_from_here(owner), Life::kUnknown);
}

TEST(SetOwner, IsDeadAsAZombieToo) {
  SetOwner owner = this_process();
  owner.process_start = 0;
  EXPECT_EQ(life_from_here(owner), Life::kAlive);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  owner.process = child;
  EXPECT_EQ(life_from_here(owner), Life::kDead);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace runner

// The common start of members of a run set.
#include "runner/start_barrier.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace runner {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRuns = 3;

class StartBarrierTest : public testing::Test {
 protected:
  SetMembers members() { return {folder_, kRuns, clock_, {}}; }
  StartBarrier barrier(double timeout_s) {
    return {folder_, clock_, timeout_s, [this] { return stop_.load(); }, [] {}};
  }
  /// The calendar time when the member started; 0 if it did not, with the reason in `why`.
  std::int64_t start(std::int64_t member, double timeout_s, std::string& why) {
    SetMembers set = members();
    try {
      auto claim = set.claim(set.look(member)).value();
      wait_for_start(barrier(timeout_s), set, claim);
      const std::int64_t now_ms = clock_.unix_ms();
      claim.finish({});
      return now_ms;
    } catch (const base::Error& e) {
      why = e.what();
      EXPECT_EQ(e.code(), base::ExitCode::kIncomplete);
      return 0;
    }
  }
  const base::TemporaryDirectory directory_;
  const std::string folder_ = directory_.path().string();
  const base::SystemClock clock_;
  std::atomic<bool> stop_{false};
};

TEST_F(StartBarrierTest, LetsAllMembersStartAtTheSameMomentWhenTheLastIsReady) {
  std::vector<std::thread> threads;
  std::vector<std::int64_t> started(kRuns);
  std::vector<std::string> why(kRuns);
  const std::int64_t began = clock_.unix_ms();
  for (std::int64_t i = 0; i < kRuns; ++i) {
    threads.emplace_back([&, i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(150 * i));
      started[static_cast<std::size_t>(i)] = start(i + 1, 60.0, why[static_cast<std::size_t>(i)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(why, testing::Each(""));
  const auto [first, last] = std::minmax_element(started.begin(), started.end());
  EXPECT_GE(*first - began, 300) << "none before the last was ready";
  EXPECT_LT(*last - *first, 150) << "they arrived 300 ms apart";
  EXPECT_TRUE(has_started(folder_));
}

TEST_F(StartBarrierTest, NamesTheMembersThatAreMissingAfterTheTimeOut) {
  std::string why;
  EXPECT_EQ(start(2, 0.3, why), 0);
  EXPECT_THAT(why, HasSubstr("members 1, 3 of 3 are not ready"));
  EXPECT_FALSE(has_started(folder_));
}

TEST_F(StartBarrierTest, EndsTheWaitWhenAnotherMemberFailsBeforeIt) {
  SetMembers set = members();
  set.claim(set.look(3))->finish({MemberStatus::kNotStarted, "no data", base::ExitCode::kData});
  std::string why;
  EXPECT_EQ(start(1, 60.0, why), 0);
  EXPECT_THAT(why, HasSubstr("member 3 ended before the common start: no data"));
}

TEST_F(StartBarrierTest, EndsTheWaitWhenAnotherMemberIsKilled) {
  SetMembers set = members();
  const pid_t child = fork();
  if (child == 0) {
    SetMembers own = members();
    auto claim = own.claim(own.look(3)).value();
    claim.set_ready();
    for (;;) pause();
  }
  while (set.look(3).state != MemberState::kRunning) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string why;
  std::thread waiting([&] { start(1, 60.0, why); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  waiting.join();
  EXPECT_THAT(
      why, HasSubstr("member 3 ended before the common start: process " + std::to_string(child)));
}

TEST_F(StartBarrierTest, LetsNobodyStartAfterTheOthers) {
  {
    SetMembers set = members();
    std::ofstream(folder_ + "/set/start.json")
        << R"({"schema": 1, "start_ms": 5, "attempts": [1, 2, 1], "created_by": "x"})" << '\n';
  }
  std::string why;
  EXPECT_EQ(start(2, 60.0, why), 0);
  EXPECT_THAT(why, HasSubstr("without attempt 1 of member 2"));
  EXPECT_NE(start(1, 60.0, why), 0) << "it is one of those";
}

TEST_F(StartBarrierTest, EndsTheWaitOnASignal) {
  stop_ = true;
  std::string why;
  EXPECT_NE(start(1, 60.0, why), 0);
  EXPECT_FALSE(has_started(folder_));
}

}  // namespace
}  // namespace runner

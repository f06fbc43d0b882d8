// Tests of the signals that end a run: which are recorded, which count once, which force the end.
#include "runner/stop_signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace runner {
namespace {

/// Longer than the second in which two signals of a kind count once.
void wait_until_the_next_counts() { std::this_thread::sleep_for(std::chrono::milliseconds(1050)); }

/// Exits with 0 after `times` signals, unless one of them has ended the process.
[[noreturn]] void live_through(int signal, int times) {
  const StopSignals signals;
  for (int i = 0; i < times; ++i) {
    if (i > 0) wait_until_the_next_counts();
    raise(signal);
  }
  std::_Exit(0);
}

TEST(StopSignals, RememberEachSignalByItsName) {
  for (const auto& [number, name] : {std::pair<int, std::string>{SIGTERM, "SIGTERM"},
                                     {SIGINT, "SIGINT"},
                                     {SIGHUP, "SIGHUP"},
                                     {SIGXCPU, "SIGXCPU"},
                                     {SIGQUIT, "SIGQUIT"},
                                     {SIGUSR2, "SIGUSR2"}}) {
    const StopSignals signals;
    EXPECT_EQ(signals.requested(), StopSignal::kNone);
    raise(number);
    EXPECT_EQ(to_string(signals.requested()), name);
  }
}

TEST(StopSignals, RememberTheLossOfALauncher) {
  const StopSignals signals;
  tell_of_lost_launcher();
  EXPECT_EQ(to_string(signals.requested()), std::string("the loss of its launcher"));
  EXPECT_TRUE(is_told_to_end());
  raise(SIGTERM);
  EXPECT_EQ(signals.requested(), StopSignal::kTerminate);
}

TEST(StopSignals, PutSavingBeforeEnding) {
  const StopSignals signals;
  raise(SIGTERM);
  raise(SIGUSR2);
  EXPECT_EQ(signals.requested(), StopSignal::kSaveAndEnd);
}

TEST(StopSignals, TellOfACheckpointRequestOnce) {
  StopSignals signals;
  EXPECT_FALSE(signals.take_checkpoint_request());
  raise(SIGUSR1);
  EXPECT_EQ(signals.requested(), StopSignal::kNone);
  EXPECT_TRUE(signals.take_checkpoint_request());
  EXPECT_FALSE(signals.take_checkpoint_request());
}

TEST(StopSignals, CountThoseOfAKindWithinASecondOnce) {
  const StopSignals signals;
  for (int i = 0; i < 5; ++i) {
    raise(SIGTERM);
    raise(SIGINT);
  }
  EXPECT_EQ(signals.requested(), StopSignal::kTerminate);
}

TEST(StopSignalsDeathTest, EndTheProcessAtTheThirdSigtermOrTheSecondSigintOrSigquit) {
  EXPECT_EXIT(live_through(SIGTERM, 2), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(live_through(SIGTERM, 3), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(live_through(SIGINT, 1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(live_through(SIGINT, 2), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(live_through(SIGQUIT, 1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(live_through(SIGQUIT, 2), testing::KilledBySignal(SIGQUIT), "");
  EXPECT_EXIT(live_through(SIGUSR2, 3), testing::ExitedWithCode(0), "");
}

TEST(StopSignals, LeaveAnIgnoredHangUpIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.requested(), StopSignal::kNone);
  }
  std::signal(SIGHUP, SIG_DFL);
}

TEST(StopSignals, LeaveRequestsToSaveIgnoredAndTheOthersAsTheyWere) {
  { const StopSignals signals; }
  raise(SIGUSR1);
  raise(SIGUSR2);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace runner

// Tests of the watchdog.
// Hides nothing.
#include "runner/watchdog.h"

#include <gmock/gmock.h>

#include <future>

namespace runner {
namespace {

TEST(Watchdog, TellsWhatHangs) {
  std::promise<std::string> told;
  Watchdog watchdog(0.02, [&](const std::string& message) { told.set_value(message); });
  watchdog.pulse("evaluation");
  EXPECT_THAT(told.get_future().get(), testing::HasSubstr("during evaluation"));
}

TEST(Watchdog, EndsWithItsOwnerWithoutTelling) {
  bool told = false;
  {
    Watchdog watchdog(3600, [&](const std::string&) { told = true; });
    watchdog.pulse("training");
  }
  EXPECT_FALSE(told);
}

TEST(Watchdog, WatchesNothingWithoutATimeout) {
  Watchdog watchdog(0, [](const std::string&) { FAIL(); });
  watchdog.pulse("training");
}

}  // namespace
}  // namespace runner

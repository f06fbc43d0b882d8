// Tests of console output.
#include "runner/console.h"

#include <gmock/gmock.h>

#include <sstream>

#include "runner/base/fake_clock.h"

namespace runner {
namespace {

using base::kSecondNs;
using testing::HasSubstr;
using testing::Not;

class HandClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return now_ns; }
  std::int64_t unix_ms() const override { return now_ns / 1'000'000; }
  std::int64_t now_ns = 0;
};

ProgressPoint halfway() { return {2, 4, 50, 100, 123.4, 0.5}; }

TEST(Console, SaysNothingWhereItIsSilent) {
  std::ostringstream out;
  const HandClock clock;
  Console console(out, Console::Style::kSilent, clock);
  console.info("hello");
  console.warn("careful");
  console.begin_progress();
  console.progress(halfway());
  EXPECT_EQ(out.str(), "");
}

TEST(Console, WritesAProgressLineEveryHalfMinuteWithoutATerminal) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, Console::Style::kLines, clock);
  console.begin_progress();
  clock.now_ns = 29 * kSecondNs;
  console.progress(halfway());
  EXPECT_EQ(out.str(), "");
  clock.now_ns = 30 * kSecondNs;
  console.progress(halfway());
  EXPECT_THAT(out.str(), HasSubstr("epoch 2/4  step 50/100"));
  EXPECT_THAT(out.str(), HasSubstr("123.4 samples/s  at most 30 s left"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
  const auto size = out.str().size();
  clock.now_ns = 31 * kSecondNs;
  console.progress(halfway());
  EXPECT_EQ(out.str().size(), size);
}

TEST(Console, OverwritesOneLineOnATerminalAndClearsItForAMessage) {
  std::ostringstream out;
  HandClock clock;
  Console console(out, Console::Style::kTerminal, clock);
  console.begin_progress();
  clock.now_ns = kSecondNs;
  console.progress(halfway());
  EXPECT_THAT(out.str(), testing::StartsWith("\repoch 2/4"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  console.info("epoch done");
  EXPECT_THAT(out.str(), HasSubstr("\r\x1b[K["));
  EXPECT_THAT(out.str(), testing::EndsWith("epoch done\n"));
}

TEST(DurationText, UsesTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(12.4), "12 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(3720), "1 h 02 min");
}

}  // namespace
}  // namespace runner

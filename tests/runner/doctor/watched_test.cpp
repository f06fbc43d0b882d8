// A child that returns, prints errors, dies, or hangs.
#include "runner/doctor/watched.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "runner/base/error.h"

namespace doctor {
namespace {

using End = Outcome::End;
using testing::HasSubstr;

constexpr double kPatienceS = 20.0;

TEST(Watched, ReturnsWhatTheWorkReturnsAndTells) {
  const Outcome outcome = run_watched(
      [](const Reporter& reporter) {
        reporter.stage("first");
        reporter.result("found {\"a\": 1}");
        reporter.stage("second\nstage");
        return 6;
      },
      kPatienceS);
  EXPECT_EQ(outcome.end, End::kReturned);
  EXPECT_EQ(outcome.status, 6);
  EXPECT_EQ(outcome.stage, "second stage");
  EXPECT_EQ(outcome.result, "found {\"a\": 1}");
}

TEST(Watched, KeepsLongResults) {
  const std::string text(300'000, 'x');
  const Outcome outcome = run_watched(
      [&](const Reporter& reporter) {
        reporter.result(text);
        return 0;
      },
      kPatienceS);
  EXPECT_EQ(outcome.result, text);
}

TEST(Watched, KnowsThatAChildDiedThoughItExitedAsIfAllWereWell) {
  const Outcome outcome = run_watched(
      [](const Reporter& reporter) -> int {
        reporter.result("before");
        reporter.stage("MPI");
        std::fputs("no network\n", stderr);
        std::fflush(stderr);
        ::_exit(0);
      },
      kPatienceS);
  EXPECT_EQ(outcome.end, End::kDied);
  EXPECT_EQ(outcome.stage, "MPI");
  EXPECT_EQ(outcome.result, "before");
  EXPECT_EQ(outcome.complaints, "no network\n");
}

TEST(Watched, KnowsThatAChildWasKilled) {
  const Outcome outcome = run_watched([](const Reporter&) { return ::raise(SIGSEGV); }, kPatienceS);
  EXPECT_EQ(outcome.end, End::kDied);
}

TEST(Watched, EndsAChildThatHangs) {
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = run_watched(
      [](const Reporter& reporter) -> int {
        reporter.stage("a dead file system");
        for (;;) ::pause();
      },
      0.2);
  EXPECT_EQ(outcome.end, End::kTimedOut);
  EXPECT_EQ(outcome.stage, "a dead file system");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST(Watched, IsPatientWithEachStageAnew) {
  const Outcome outcome = run_watched(
      [](const Reporter& reporter) {
        for (int i = 0; i < 10; ++i) {
          reporter.stage(std::to_string(i));
          ::usleep(100'000);
        }
        return 3;
      },
      0.9);
  EXPECT_EQ(outcome.end, End::kReturned);
  EXPECT_EQ(outcome.status, 3);
}

TEST(Watched, MakesAnExceptionAnExitCode) {
  testing::internal::CaptureStderr();
  const Outcome outcome = run_watched(
      [](const Reporter&) -> int { throw base::DataError("x.json: is damaged"); }, kPatienceS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("trainmark: x.json: is damaged"));
  EXPECT_EQ(outcome.end, End::kReturned);
  EXPECT_EQ(outcome.status, static_cast<int>(base::ExitCode::kData));
}

TEST(Watched, GivesStderrBack) {
  testing::internal::CaptureStderr();
  const Outcome outcome = run_watched(
      [](const Reporter& reporter) {
        std::cerr << "kept\n" << std::flush;
        reporter.give_back_stderr();
        std::cerr << "shown\n" << std::flush;
        return 0;
      },
      kPatienceS);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "shown\n");
  EXPECT_EQ(outcome.complaints, "kept\n");
}

}  // namespace
}  // namespace doctor

// Tests of the traces that the program's runs write.
#include <gmock/gmock.h>

#include "trace_checks.h"
#include "workloads/dlrm/click_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Ended;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::HasSubstr;
using testing::Not;

class DlrmTrace : public outside::ClickRun {
 protected:
  Ended traced(int ranks, const std::string& steps) const {
    return run([](json&) {}, mpirun(ranks), "--trace " + steps);
  }
  std::vector<telemetry::ReadRank> trace() const {
    return telemetry::read_trace(result("1.trace.json"));
  }
  static std::int64_t bytes(const telemetry::ReadRank& rank, const std::string& name) {
    for (const json& times : rank.entry.at("transfers")) {
      if (times.at("name") == name) return times.at("bytes");
    }
    return -1;
  }
};

TEST_F(DlrmTrace, HasTheStepsOfEveryRankAcrossAnEvaluation) {
  for (const int ranks : {1, 2, 3}) {
    fs::remove_all(folder_ / "results");
    const Ended ended = traced(ranks, "3:6");
    ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("trace:     " + result("1.trace.json").string()));
    const auto read = trace();
    ASSERT_EQ(read.size(), static_cast<std::size_t>(ranks));
    telemetry::expect_whole_trace(read, 3, 6);
    telemetry::expect_steps_of_scopes(read);
    for (const telemetry::ReadRank& rank : read) {
      EXPECT_EQ(rank.entry.at("dropped"), 0);
      EXPECT_FALSE(intervals_of(rank.training(), "layer", "embedding tables").empty());
      EXPECT_EQ(rank.entry.at("transfers").empty(), ranks == 1);
    }
    if (ranks == 1) {
      EXPECT_THAT(ended.out, Not(HasSubstr("transfers")));
    } else {
      EXPECT_THAT(ended.out, HasSubstr("gradients of embeddings"));
    }
  }
}

TEST_F(DlrmTrace, AgreesWithTheTelemetryWhereAllStepsAreTraced) {
  ASSERT_EQ(traced(2, "1:8").status, kTargetMissed);
  const auto read = trace();
  telemetry::expect_whole_trace(read, 1, 8);
  telemetry::expect_same_account(read, telemetry::read_report(result("1.telemetry.json").string()));
}

TEST_F(DlrmTrace, CountsTheBytesThatTheFormulaGives) {
  // All steps: the ids of a step may travel in the one before.
  constexpr std::int64_t kBatch = 16, kWidth = 40, kSteps = 8, kFloat = 4;
  ASSERT_EQ(traced(2, "1:8").status, kTargetMissed);
  std::int64_t forward = 0, backward = 0, ids = 0;
  for (const telemetry::ReadRank& rank : trace()) {
    forward += bytes(rank, "embeddings");
    backward += bytes(rank, "gradients of embeddings");
    ids += bytes(rank, "ids");
  }
  // Of each table, the embeddings of the other rank's half of the samples.
  EXPECT_EQ(forward, kSteps * kTables * kWidth * kBatch / 2 * kFloat);
  EXPECT_EQ(backward, forward);
  // A table that is split over both ranks needs all its ids on both.
  EXPECT_GE(ids, kSteps * kTables * kBatch / 2 * kFloat);
  EXPECT_LE(ids, kSteps * (kTables + 1) * kBatch / 2 * kFloat);
}

TEST_F(DlrmTrace, TellsWhatEachExchangeTakesAlone) {
  ASSERT_EQ(traced(2, "2:5").status, kTargetMissed);
  int known = 0;
  for (const telemetry::ReadRank& rank : trace()) {
    for (const json& times : rank.entry.at("transfers")) {
      const auto name = times.at("name").get<std::string>();
      ASSERT_TRUE(times.at("isolated_s").is_number()) << name;
      EXPECT_GT(times.at("isolated_s"), 0.0) << name;
      ++known;
    }
  }
  EXPECT_GE(known, 2 * 4) << "gradients, ids, embeddings and their gradients";
}

TEST_F(DlrmTrace, SaysWhenTheRunHadLessSteps) {
  const Ended ended = traced(1, "7:20");
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--trace 7:20: the run had 2 of these 14 steps"));
  telemetry::expect_whole_trace(trace(), 7, 8);
}

TEST_F(DlrmTrace, NumbersTheStepsOfAResumedRunOnwards) {
  const auto saving = [](json& c) { c["checkpoint"] = {{"every_steps", 3}, {"keep_last", 9}}; };
  ASSERT_EQ(run(saving).status, kTargetMissed);
  const Ended ended = run(saving, "", "--trace 5:6 " + resume_from("checkpoint_0001_step_3.h5"));
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  telemetry::expect_whole_trace(telemetry::read_trace(result("2.trace.json")), 5, 6);
}

TEST_F(DlrmTrace, NumbersTheStepsOfEachRunOfASet) {
  ASSERT_EQ(traced(1, "1:2 --runs 2").status, kTargetMissed);
  for (const char* name : {"1.trace.json", "2.trace.json"}) {
    telemetry::expect_whole_trace(telemetry::read_trace(result(name)), 1, 2);
  }
}

TEST_F(DlrmTrace, RefusesWhatAreNoSteps) {
  for (const char* steps : {"5:2", "x", "0", "0:3", "3"}) {
    expect(run([](json&) {}, "", std::string("--trace ") + steps), kUsage,
           HasSubstr("--trace: expected FIRST:LAST, two numbers of steps with 1 <= FIRST <= LAST, "
                     "got '" +
                     std::string(steps) + "'"));
  }
  EXPECT_EQ(traced(1, "1:2 --dry-run").status, kUsage);
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(DlrmTrace, LeavesNoneWithoutTheOption) {
  const Ended ended = run([](json&) {});
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  EXPECT_THAT(ended.out, Not(HasSubstr("trace")));
  EXPECT_FALSE(fs::exists(result("1.trace.json")));
}

}  // namespace

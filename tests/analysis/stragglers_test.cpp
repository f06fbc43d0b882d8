// Ranks that others waited for, in synthetic telemetry.
#include "analysis/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/golden.h"
#include "runner/telemetry/report_file.h"

namespace {

using analysis::find_waiting;
using analysis::Straggler;
using analysis::Waiting;
using telemetry::Counter;
using telemetry::Subsystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kForward = 30.0, kBackward = 60.0, kExchange = 5.0, kEvaluation = 10.0;

/// Two ranks on each of the hosts a, b, ...; all alike, until delay() is called.
class Job {
 public:
  explicit Job(int ranks) {
    report_.has_within = true;
    for (int r = 0; r < ranks; ++r) {
      telemetry::RankReport rank;
      rank.identity = {r, std::string(1, static_cast<char>('a' + r / 2)), r / 2, 1};
      report_.ranks.push_back(rank);
      seconds(r, Subsystem::kForward) = kForward;
      seconds(r, Subsystem::kBackward) = kBackward;
      seconds(r, Subsystem::kExchange) = kExchange;
      seconds(r, Subsystem::kEvaluation) = kEvaluation;
      within(r, Subsystem::kEvaluation, Subsystem::kForward) = kEvaluation;
    }
  }
  double& seconds(int rank, Subsystem part) {
    return report_.ranks[static_cast<std::size_t>(rank)]
        .subsystems_s[static_cast<std::size_t>(part)];
  }
  double& within(int rank, Subsystem outer, Subsystem part) {
    return report_.ranks[static_cast<std::size_t>(rank)]
        .within_s[static_cast<std::size_t>(outer)][static_cast<std::size_t>(part)];
  }
  /// The ranks `late` take longer in `part` of the training, and the others wait.
  Job& delay(const std::vector<int>& late, Subsystem part, double longer_s) {
    for (int r = 0; r < static_cast<int>(report_.ranks.size()); ++r) {
      const bool is_late = std::find(late.begin(), late.end(), r) != late.end();
      seconds(r, is_late ? part : Subsystem::kExchange) += longer_s;
    }
    return *this;
  }
  /// The same for one rank inside `outer`, whose seconds include its inner scopes.
  Job& delay_within(Subsystem outer, int late, Subsystem part, double longer_s) {
    for (int r = 0; r < static_cast<int>(report_.ranks.size()); ++r) {
      seconds(r, outer) += longer_s;
      if (r != late) within(r, outer, Subsystem::kExchange) += longer_s;
      if (r == late && part != outer) within(r, outer, part) += longer_s;
    }
    return *this;
  }
  telemetry::Report& report() { return report_; }
  Waiting waiting() {
    for (telemetry::RankReport& rank : report_.ranks) {
      rank.wall_s = 0.0;
      for (const double seconds : rank.subsystems_s) rank.wall_s += seconds;
    }
    return find_waiting(report_);
  }

 private:
  telemetry::Report report_;
};

std::vector<int> ranks_of(const Waiting& waiting) {
  std::vector<int> ranks;
  for (const Straggler& one : waiting.stragglers) ranks.push_back(one.rank);
  return ranks;
}

TEST(Stragglers, AreNoneWhereAllRanksAreAlike) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Waiting waiting = Job(ranks).waiting();
    EXPECT_THAT(waiting.stragglers, IsEmpty()) << ranks;
    EXPECT_FALSE(waiting.slow_exchange) << ranks;
  }
}

TEST(Stragglers, AreNoneOnASingleRank) {
  Job job(1);
  job.seconds(0, Subsystem::kInput) = 500.0;
  EXPECT_THAT(job.waiting().stragglers, IsEmpty());
}

TEST(Stragglers, MatterToTheRunAsAWhole) {
  const auto stage = Subsystem::kStaging;
  EXPECT_THAT(Job(2).delay_within(stage, 0, stage, 2.0).waiting().stragglers, IsEmpty())
      << "2 s of 107 s";
  EXPECT_THAT(ranks_of(Job(2).delay_within(stage, 0, stage, 2.5).waiting()), ElementsAre(0));
}

TEST(Stragglers, AreNamedWithTheSubsystemThatDiffers) {
  for (const int ranks : {2, 3, 4, 9}) {
    const Waiting waiting = Job(ranks).delay({1}, Subsystem::kInput, 12.3).waiting();
    ASSERT_THAT(ranks_of(waiting), ElementsAre(1)) << ranks;
    const Straggler& one = waiting.stragglers[0];
    EXPECT_EQ(one.phase, "training");
    EXPECT_EQ(one.host, "a");
    EXPECT_NEAR(one.longer_s, 12.3, 1e-9);
    EXPECT_NEAR(one.others_waited_s, 12.3, 1e-9);
    ASSERT_EQ(one.where.size(), 1u);
    EXPECT_EQ(one.where[0].first, "input");
    EXPECT_NEAR(one.where[0].second, 12.3, 1e-9);
    EXPECT_FALSE(waiting.slow_exchange) << "the straggler did not wait";
  }
}

TEST(Stragglers, WithASlowCpuAreSlowInAllThatComputes) {
  Job job(4);
  job.delay({2}, Subsystem::kForward, 10.0).delay({2}, Subsystem::kBackward, 20.0);
  const Waiting waiting = job.waiting();
  ASSERT_THAT(ranks_of(waiting), ElementsAre(2));
  ASSERT_EQ(waiting.stragglers[0].where.size(), 2u);
  EXPECT_EQ(waiting.stragglers[0].where[0].first, "backward");
  EXPECT_EQ(waiting.stragglers[0].where[1].first, "forward");
  EXPECT_EQ(sentence(waiting.stragglers[0]),
            "rank 2 on host b was waited for in training: 30.0 s longer than the median rank "
            "(20.0 s more backward, 10.0 s more forward); the others spent 30.0 s more in "
            "exchange");
}

TEST(Stragglers, MayBeSeveralThatAreLateTogether) {
  EXPECT_THAT(ranks_of(Job(4).delay({1, 3}, Subsystem::kInput, 20.0).waiting()), ElementsAre(1, 3));
  EXPECT_THAT(ranks_of(Job(8).delay({0, 1, 6, 7}, Subsystem::kInput, 20.0).waiting()),
              ElementsAre(0, 1, 6, 7));
}

TEST(Stragglers, AreNotTheGreaterPartOfTheRanks) {
  EXPECT_THAT(Job(4).delay({0, 1, 3}, Subsystem::kInput, 20.0).waiting().stragglers, IsEmpty());
}

TEST(Stragglers, AreTheLatestFirst) {
  Job job(8);
  job.delay({5}, Subsystem::kInput, 10.0).delay({2}, Subsystem::kBackward, 30.0);
  EXPECT_THAT(ranks_of(job.waiting()), ElementsAre(2, 5));
}

TEST(Stragglers, AreNotMadeOfNoise) {
  // 4 % of 95 s on two ranks; 0.4 s of a second; the tail of 200 ranks that differ by 5 %.
  EXPECT_THAT(Job(2).delay({1}, Subsystem::kInput, 0.04 * 95.0).waiting().stragglers, IsEmpty());
  Job shortly(2);
  for (const int r : {0, 1}) {
    for (const Subsystem part : {Subsystem::kForward, Subsystem::kBackward, Subsystem::kExchange,
                                 Subsystem::kEvaluation}) {
      shortly.seconds(r, part) *= 0.01;
    }
    shortly.within(r, Subsystem::kEvaluation, Subsystem::kForward) *= 0.01;
  }
  EXPECT_THAT(shortly.delay({1}, Subsystem::kInput, 0.4).waiting().stragglers, IsEmpty());
  Job many(200);
  for (int r = 0; r < 200; ++r) {
    const double late = 0.05 * kBackward * ((r * 37) % 100) / 25.0;  // evenly up to 20 %
    many.seconds(r, Subsystem::kBackward) += late;
    many.seconds(r, Subsystem::kExchange) += 12.0 - late;
  }
  EXPECT_THAT(many.waiting().stragglers, IsEmpty());
}

TEST(Stragglers, AreNamedAmongManyRanksThatDiffer) {
  Job many(200);
  for (int r = 0; r < 200; ++r) {
    const double late = 0.02 * kBackward * ((r * 37) % 100) / 100.0;
    many.seconds(r, Subsystem::kBackward) += late;
    many.seconds(r, Subsystem::kExchange) += 1.2 - late;
  }
  EXPECT_THAT(ranks_of(many.delay({151}, Subsystem::kBackward, 10.0).waiting()), ElementsAre(151));
}

TEST(Stragglers, AreOnlyThoseThatOthersWaitedFor) {
  Job job(4);
  job.seconds(1, Subsystem::kOther) += 40.0;  // no rank waited longer
  EXPECT_THAT(job.waiting().stragglers, IsEmpty());
}

TEST(Stragglers, OfStagingAndEvaluationAreFoundInside) {
  Job job(4);
  job.delay_within(Subsystem::kStaging, 3, Subsystem::kStaging, 7.0);
  job.delay_within(Subsystem::kEvaluation, 0, Subsystem::kInput, 9.0);
  const Waiting waiting = job.waiting();
  ASSERT_THAT(ranks_of(waiting), ElementsAre(0, 3));
  EXPECT_EQ(waiting.stragglers[0].phase, "evaluation");
  EXPECT_EQ(waiting.stragglers[0].where[0].first, "input");
  EXPECT_EQ(waiting.stragglers[1].phase, "staging");
  EXPECT_EQ(waiting.stragglers[1].where[0].first, "staging");
  EXPECT_EQ(waiting.stragglers[1].host, "b");
  job.report().has_within = false;
  EXPECT_THAT(job.waiting().stragglers, IsEmpty()) << "an old file does not tell";
}

TEST(SlowExchange, IsToldWhenEveryRankSpendsMuchInIt) {
  Job job(4);
  for (int r = 0; r < 4; ++r) {
    job.seconds(r, Subsystem::kExchange) = 110.0;
    auto& counters = job.report().ranks[static_cast<std::size_t>(r)].counters;
    counters[static_cast<std::size_t>(Counter::kBytesSent)] = 2'000'000'000;
    counters[static_cast<std::size_t>(Counter::kExchangeTotalNs)] = 160'000'000'000;
  }
  const Waiting waiting = job.waiting();
  EXPECT_THAT(waiting.stragglers, IsEmpty());
  ASSERT_TRUE(waiting.slow_exchange);
  EXPECT_EQ(waiting.slow_exchange->nodes, 2);
  EXPECT_DOUBLE_EQ(waiting.slow_exchange->bytes_per_s, 12.5e6);
  EXPECT_EQ(sentence(*waiting.slow_exchange),
            "exchange dominates: every rank spent at least 110.0 s (55 % of the training) in it, "
            "and gave 12.5 MB/s while one was under way, between 2 nodes (a, b)");
}

TEST(SlowExchange, IsNotToldWhenOnlyTheOthersWaited) {
  EXPECT_FALSE(Job(4).delay({1}, Subsystem::kInput, 500.0).waiting().slow_exchange);
}

TEST(SlowExchange, NamesItsPlaceInFewWords) {
  Job job(40);
  for (int r = 0; r < 40; ++r) job.seconds(r, Subsystem::kExchange) = 110.0;
  EXPECT_THAT(sentence(*job.waiting().slow_exchange),
              HasSubstr("between 20 nodes (a, b, c, d, e, f, g, h, ...)"));
  Job alone(2);
  for (const int r : {0, 1}) alone.seconds(r, Subsystem::kExchange) = 110.0;
  EXPECT_THAT(sentence(*alone.waiting().slow_exchange), HasSubstr("within one node (a)"));
}

TEST(Waiting, IsDefinedWithItsNumbers) {
  EXPECT_THAT(analysis::straggler_definition(), HasSubstr("by at least 0.5 s, 5 % of the phase"));
  EXPECT_THAT(analysis::slow_exchange_definition(), HasSubstr("at least 0.5 s"));
}

}  // namespace

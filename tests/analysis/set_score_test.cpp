// Scores and throughputs of run sets, and which instances to prune.
#include "analysis/set_score.h"

#include <gmock/gmock.h>

#include <deque>

namespace {

using analysis::Instance;
using analysis::Outcome;
using analysis::prune;
using analysis::Pruning;
using analysis::RunFacts;
using analysis::ScoredMember;
using testing::ElementsAre;
using testing::HasSubstr;

/// Members whose runs took these seconds, from a start at 0; negative: failed after that time.
class Members {
 public:
  explicit Members(const std::vector<double>& times) {
    for (const double time : times) add(0.0, time);
  }
  ScoredMember& add(double start_s, double time_s) {
    RunFacts& facts = facts_.emplace_back();
    facts.run_start_ms = 1000.0 * start_s;
    facts.run_stop_ms = 1000.0 * (start_s + std::abs(time_s));
    facts.ttt_s = std::abs(time_s);
    facts.outcome = time_s > 0 ? Outcome::kSuccess : Outcome::kAborted;
    const auto number = static_cast<std::int64_t>(all.size()) + 1;
    all.push_back({number, static_cast<std::uint64_t>(number), &facts, true, ""});
    return all.back();
  }
  std::vector<ScoredMember> all;

 private:
  std::deque<RunFacts> facts_;
};

analysis::SetScore score(const Members& members, std::int64_t pending = 0,
                         const std::string& benchmark = "resnet") {
  const auto runs = static_cast<std::int64_t>(members.all.size()) + pending;
  return analysis::score_of(members.all, {runs, pending}, benchmark);
}

TEST(SetScore, IsTheMeanWithoutTheFastestAndTheSlowestOfAsManyRunsAsTheRulesWant) {
  const auto found = score(Members({5, 1, 3, 4, 2}));
  EXPECT_DOUBLE_EQ(*found.time_to_train_s, 3.0);
  EXPECT_THAT(found.counted, ElementsAre(5, 3, 4));
  EXPECT_EQ(found.reason, "");
  EXPECT_EQ(*found.runs_required, 5);
  EXPECT_DOUBLE_EQ(*score(Members({5, -1, 3, 4, 2})).time_to_train_s, 4.0)
      << "one failing run takes the place of the slowest";
}

TEST(SetScore, SaysWhyThereIsNone) {
  EXPECT_THAT(score(Members({1, 2, 3})).reason,
              HasSubstr("ask for 5 runs of resnet, this set has 3"));
  EXPECT_THAT(score(Members({1, 2, 3, 4, 5, 6})).reason, HasSubstr("this set has 6"));
  EXPECT_THAT(score(Members({1, 2, 3, 4}), 1).reason, HasSubstr("4 of 5 runs have ended"));
  EXPECT_THAT(score(Members({1, -2, 3, -4, 5})).reason, HasSubstr("2 of 5 runs fail"));
  EXPECT_THAT(score(Members({1, 2, 3, 4, 5}), 0, "toy").reason, HasSubstr("'toy'"));
  Members breaking({1, 2, 3, 4, 5});
  breaking.all[1].rule_breaks = breaking.all[2].rule_breaks = "breaks hpc 3.0.0: seed is missing";
  EXPECT_THAT(score(breaking).reason, HasSubstr("one breaks hpc 3.0.0: seed is missing"));
  EXPECT_FALSE(score(breaking).time_to_train_s);
}

TEST(SetScore, CountsARunThatBreaksRulesAsFailing) {
  Members members({1, 2, 3, 4, 5});
  members.all[0].rule_breaks = "breaks a rule";
  EXPECT_THAT(score(members).counted, ElementsAre(3, 4, 5));
}

TEST(SetSpread, IsThatOfTheSuccessfulRuns) {
  const auto spread = analysis::spread_of(Members({2, 4, -100}).all, "resnet");
  EXPECT_EQ(spread.successful, 2);
  EXPECT_DOUBLE_EQ(*spread.min_s, 2.0);
  EXPECT_DOUBLE_EQ(*spread.median_s, 3.0);
  EXPECT_DOUBLE_EQ(*spread.max_s, 4.0);
  EXPECT_DOUBLE_EQ(*spread.variation, std::sqrt(2.0) / 3.0);
  EXPECT_FALSE(analysis::spread_of(Members({1}).all, "resnet").variation);
  EXPECT_FALSE(analysis::spread_of(Members({-1}).all, "resnet").min_s);
  EXPECT_DOUBLE_EQ(*analysis::spread_of(Members({1, 2, 9}).all, "resnet").olympic_mean_s, 2.0);
}

TEST(Throughput, IsTheModelsKeptOverTheTimeFromTheFirstStartToTheLastStop) {
  Members members({});
  for (int i = 0; i < 5; ++i) members.add(0.1 * i, 60.0 - 0.1 * i);
  const auto found = analysis::throughput_of(members.all, {5, 0}, "deepcam");
  EXPECT_DOUBLE_EQ(*found.ttta_s, 60.0);
  EXPECT_DOUBLE_EQ(*found.models_per_minute, 5.0);
  EXPECT_NEAR(*found.start_spread_s, 0.4, 1e-9);
  EXPECT_EQ(found.reason, "");
  EXPECT_TRUE(found.pruned.empty());
}

TEST(Throughput, IsNoResultWithFewerModelsThanTheRulesWant) {
  Members members({60, 60, 60, 60, -60});
  const auto found = analysis::throughput_of(members.all, {5, 0}, "deepcam");
  EXPECT_THAT(found.reason, HasSubstr("at least 5 models, 4 of 5 can count"));
  EXPECT_THAT(found.kept, ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(found.pruned.size(), 1U);
  EXPECT_EQ(found.pruned[0].first, 5);
  EXPECT_DOUBLE_EQ(*found.models_per_minute, 4.0);
  EXPECT_THAT(analysis::throughput_of(members.all, {6, 1}, "deepcam").reason, HasSubstr("5 of 6"));
}

std::vector<Instance> instances(const std::vector<double>& stops_s) {
  std::vector<Instance> all;
  for (const double stop : stops_s) all.push_back({0.0, 1000.0 * stop, all.size() + 1, ""});
  return all;
}

TEST(Prune, LeavesOutAStragglerWhereThatRaisesTheRate) {
  const Pruning pruning = prune(instances({60, 61, 62, 90}), 2);
  EXPECT_THAT(pruning.kept, ElementsAre(0, 1, 2));  // 3/62 > 4/90
  EXPECT_DOUBLE_EQ(pruning.ttta_s, 62.0);
  ASSERT_EQ(pruning.pruned.size(), 1U);
  EXPECT_THAT(pruning.pruned[0].second, HasSubstr("ends 28.0 s after"));
  EXPECT_TRUE(prune(instances({60, 61, 62, 70}), 2).pruned.empty());  // 4/70 > 3/62
}

TEST(Prune, KeepsAsManyAsTheRulesWant) {
  EXPECT_EQ(prune(instances({60, 61, 62, 90}), 4).kept.size(), 4U);
  EXPECT_EQ(prune(instances({10, 100, 200}), 5).kept.size(), 3U) << "too few: nobody is left out";
}

TEST(Prune, LeavesOutWhatBeganFarTooEarly) {
  auto all = instances({160, 161, 162, 163});
  for (std::size_t i = 0; i < 3; ++i) all[i].start_ms = 100000.0;
  const Pruning pruning = prune(all, 2);
  EXPECT_THAT(pruning.kept, ElementsAre(0, 1, 2));
  EXPECT_DOUBLE_EQ(pruning.ttta_s, 62.0);
  EXPECT_THAT(pruning.pruned[0].second, HasSubstr("after"));
  all[3].stop_ms = 160500.0;
  EXPECT_THAT(prune(all, 2).pruned[0].second, HasSubstr("begins 100.0 s before"));
}

TEST(Prune, KeepsOneOfEqualSeedsThatWhichEndsFirst) {
  auto all = instances({60, 59, 61});
  all[0].seed = all[1].seed;
  const Pruning pruning = prune(all, 1);
  EXPECT_THAT(pruning.kept, ElementsAre(1, 2));
  EXPECT_THAT(pruning.pruned[0].second, HasSubstr("seed 2 of another instance"));
}

TEST(Prune, LeavesOutWhatCannotCount) {
  auto all = instances({60, 59, 61});
  all[1].unusable = "did not reach its target";
  const Pruning pruning = prune(all, 1);
  EXPECT_THAT(pruning.kept, ElementsAre(0, 2));
  EXPECT_EQ(pruning.pruned[0].second, "did not reach its target");
  for (Instance& one : all) one.unusable = "failed";
  EXPECT_EQ(prune(all, 1).models_per_minute(), 0.0);
  EXPECT_EQ(prune({}, 1).ttta_s, 0.0);
}

/// The highest rate of all subsets with at least `least` instances, by trying every one.
double best_rate(const std::vector<Instance>& all, std::size_t least) {
  double best = 0.0;
  for (unsigned subset = 1; subset < (1U << all.size()); ++subset) {
    double start = 1e18, stop = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((subset >> i & 1U) == 0) continue;
      start = std::min(start, all[i].start_ms);
      stop = std::max(stop, all[i].stop_ms);
      ++count;
    }
    if (count >= least) best = std::max(best, static_cast<double>(count) / (stop - start) * 6e4);
  }
  return best;
}

TEST(Prune, FindsTheBestOfAllSubsets) {
  std::uint64_t state = 1;
  const auto random = [&state](double low, double high) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * static_cast<double>(state >> 40U) / static_cast<double>(1U << 24U);
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<Instance> all;
    for (std::uint64_t i = 0; i < 9; ++i) {
      const double start = random(0, 50000);
      all.push_back({start, start + random(30000, 90000), i + 1, ""});
    }
    for (const std::size_t least : {1U, 4U, 8U}) {
      EXPECT_NEAR(prune(all, least).models_per_minute(), best_rate(all, least), 1e-9);
    }
  }
}

}  // namespace

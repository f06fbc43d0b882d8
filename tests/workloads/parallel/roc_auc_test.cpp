// Tests of the area under the ROC curve against known answers, and against references that compare
// all pairs or rank all samples; for several distributions of samples over ranks.
#include "workloads/parallel/roc_auc.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/parallel/key_ranges.h"

namespace {

using parallel::RocAuc;
using Communicator = runner::Communicator;
using Limits = std::numeric_limits<float>;
__extension__ using Wide = __int128;

struct Samples {
  std::vector<float> scores, labels;
  std::size_t size() const { return scores.size(); }
  void add(float score, float label) {
    scores.push_back(score);
    labels.push_back(label);
  }
};

double ratio(Wide twice_won, Wide positives, Wide negatives) {
  return static_cast<double>(twice_won) / static_cast<double>(2 * positives * negatives);
}

/// Compares every positive with every negative.
double area_by_pairs(const Samples& s) {
  Wide twice_won = 0;
  std::int64_t positives = 0;
  for (std::size_t p = 0; p < s.size(); ++p) {
    if (s.labels[p] != 1.0F) continue;
    ++positives;
    for (std::size_t n = 0; n < s.size(); ++n) {
      if (s.labels[n] != 0.0F) continue;
      twice_won += s.scores[p] > s.scores[n] ? 2 : s.scores[p] == s.scores[n] ? 1 : 0;
    }
  }
  const auto all = std::count_if(s.labels.begin(), s.labels.end(), [](float l) { return l >= 0; });
  return ratio(twice_won, positives, all - positives);
}

/// Sums the ranks of positives; equal scores have their mean rank.
double area_by_ranks(const Samples& s) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.labels[i] >= 0.0F) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return s.scores[a] < s.scores[b]; });
  Wide twice_ranks = 0;
  Wide positives = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    Wide tied = 0;
    while (end < order.size() && s.scores[order[end]] == s.scores[order[begin]]) {
      tied += s.labels[order[end++]] == 1.0F ? 1 : 0;
    }
    positives += tied;
    twice_ranks += tied * static_cast<Wide>(begin + 1 + end);
  }
  const Wide negatives = static_cast<Wide>(order.size()) - positives;
  return ratio(twice_ranks - positives * (positives + 1), positives, negatives);
}

/// The rank that has sample i.
using Deal = std::function<std::size_t(std::size_t i, std::size_t samples, std::size_t ranks)>;
const std::vector<std::pair<std::string, Deal>> kDeals = {
    {"in turn", [](auto i, auto, auto ranks) { return i % ranks; }},
    {"in blocks", [](auto i, auto samples, auto ranks) { return i * ranks / samples; }},
    {"all on the last", [](auto, auto, auto ranks) { return ranks - 1; }},
    {"most on the first",
     [](auto i, auto samples, auto ranks) { return i < samples - samples / 10 ? 0 : i % ranks; }}};

RocAuc area_of_dealt(const Samples& all, const Deal& deal, const Communicator& world) {
  Samples mine;
  const auto ranks = static_cast<std::size_t>(world.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (deal(i, all.size(), ranks) == static_cast<std::size_t>(world.rank())) {
      mine.add(all.scores[i], all.labels[i]);
    }
  }
  return parallel::roc_auc(mine.scores, mine.labels, world);
}

/// Expects the same bits on every rank for every distribution and order.
void expect_area(const Samples& all, double expected) {
  const Communicator world = Communicator::world();
  Samples reversed = all;
  std::reverse(reversed.scores.begin(), reversed.scores.end());
  std::reverse(reversed.labels.begin(), reversed.labels.end());
  for (const auto& [name, deal] : kDeals) {
    EXPECT_EQ(area_of_dealt(all, deal, world).area, expected) << name;
    EXPECT_EQ(area_of_dealt(reversed, deal, world).area, expected) << name;
  }
}

using Draw = std::function<float(base::RandomStream&)>;

/// Draws a score per sample; for three in four positives, the larger of two draws.
Samples draw_samples(std::size_t count, double positive_rate, const Draw& draw) {
  base::RandomStream random(3, base::Purpose::kGenerate, 0, 0);
  Samples all;
  for (std::size_t i = 0; i < count; ++i) {
    const bool positive = random.uniform(0.0, 1.0) < positive_rate;
    float score = draw(random);
    if (positive && random.uniform(0.0, 1.0) < 0.75) score = std::max(score, draw(random));
    all.add(score, positive ? 1.0F : 0.0F);
  }
  return all;
}

const std::vector<std::pair<std::string, Draw>> kDraws = {
    {"all equal", [](auto&) { return 0.25F; }},
    {"two values", [](auto& r) { return r.uniform(0.0, 1.0) < 0.5 ? -1.0F : 1.0F; }},
    {"few values", [](auto& r) { return static_cast<float>(std::floor(r.uniform(-4.0, 5.0))); }},
    {"probabilities", [](auto& r) { return static_cast<float>(r.uniform(0.0, 1.0)); }},
    {"normal logits", [](auto& r) { return static_cast<float>(3.0 * r.normal()); }},
    {"neighbours of one",
     [](auto& r) {
       return 1.0F + Limits::epsilon() * std::floor(static_cast<float>(r.uniform(0.0, 5000.0)));
     }},
    {"denormals",
     [](auto& r) {
       return Limits::denorm_min() * std::floor(static_cast<float>(r.uniform(-9.0, 9.0)));
     }},
    {"signs of zero", [](auto& r) { return r.uniform(0.0, 1.0) < 0.5 ? -0.0F : 0.0F; }},
    {"infinities and largest",
     [](auto& r) {
       constexpr std::array<float, 5> kValues = {-Limits::infinity(), Limits::lowest(), 0.0F,
                                                 Limits::max(), Limits::infinity()};
       return kValues[static_cast<std::size_t>(r.uniform(0.0, 4.999))];
     }},
    {"one far away",
     [](auto& r) { return r.uniform(0.0, 1.0) < 0.99 ? 0.5F : static_cast<float>(r.normal()); }}};

TEST(RocAuc, AgreesWithKnownAnswers) {
  expect_area({{.1F, .4F, .35F, .8F}, {0, 0, 1, 1}}, .75);
  expect_area({{.1F, .4F, .4F, .8F}, {0, 0, 1, 1}}, .875);
  expect_area({{.3F, .3F, .3F, .3F}, {0, 0, 1, 1}}, .5);
  expect_area({{.2F, .2F, .6F, .2F, .6F, .9F}, {0, 0, 0, 1, 1, 1}}, 6.5 / 9);
  EXPECT_NEAR(6.5 / 9, .7222222222, 1e-10);
}

TEST(RocAuc, IsOneOrZeroWhereScoresPartTheClasses) {
  expect_area({{-3, -2, 5, 6, 7}, {0, 0, 1, 1, 1}}, 1.0);
  expect_area({{-3, -2, 5, 6, 7}, {1, 1, 0, 0, 0}}, 0.0);
  expect_area({{-0.0F, 0.0F}, {0, 1}}, 0.5);
  expect_area({{-Limits::denorm_min(), 0.0F}, {0, 1}}, 1.0);
  expect_area({{0.0F, Limits::denorm_min()}, {1, 0}}, 0.0);
  expect_area({{Limits::max(), Limits::infinity()}, {0, 1}}, 1.0);
}

TEST(RocAuc, AgreesWithAComparisonOfAllPairs) {
  for (const auto& [name, draw] : kDraws) {
    for (const double rate : {0.03, 0.5}) {
      SCOPED_TRACE(name);
      const Samples all = draw_samples(700, rate, draw);
      const double expected = area_by_pairs(all);
      EXPECT_EQ(area_by_ranks(all), expected);
      expect_area(all, expected);
    }
  }
}

TEST(RocAuc, IsExactForAMillionSamplesWithTies) {
  const Communicator world = Communicator::world();
  const Draw rounded = [](auto& r) {
    return static_cast<float>(std::round(1e4 * r.normal()) * 1e-4);
  };
  const Samples all = draw_samples(1000000, 0.034, rounded);
  const double expected = area_by_ranks(all);
  const RocAuc found = area_of_dealt(all, kDeals[1].second, world);
  EXPECT_EQ(found.area, expected);
  EXPECT_EQ(found.positives + found.negatives, 1000000);
  EXPECT_EQ(found.positives, std::count(all.labels.begin(), all.labels.end(), 1.0F));
  EXPECT_GT(expected, 0.6);
}

TEST(RocAuc, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Communicator world = Communicator::world();
  const Samples all = draw_samples(200000, 0.3, kDraws[4].second);
  const double expected = area_by_ranks(all);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(area_of_dealt(all, kDeals[0].second, world).area, expected) << threads;
  }
  omp_set_num_threads(before);
}

TEST(RocAuc, LeavesOutRowsWithoutASample) {
  expect_area({{.1F, .4F, 9.0F, .35F, std::nanf(""), .8F}, {0, 0, -1, 1, -1, 1}}, .75);
}

TEST(RocAuc, HasNoMeaningWhenAScoreIsNotANumber) {
  const Communicator world = Communicator::world();
  Samples all = {{.1F, .4F, .35F, .8F}, {0, 0, 1, 1}};
  all.add(std::nanf(""), 0.0F);
  all.add(-std::nanf(""), 1.0F);
  const RocAuc found = area_of_dealt(all, kDeals[0].second, world);
  EXPECT_TRUE(std::isnan(found.area));
  EXPECT_EQ(found.nan_scores, 2);
  EXPECT_EQ(found.positives, 2);
  EXPECT_EQ(found.negatives, 2);
}

TEST(RocAuc, HasNoMeaningWithoutBothClasses) {
  const Communicator world = Communicator::world();
  for (const float label : {-1.0F, 0.0F, 1.0F}) {
    const RocAuc found = area_of_dealt({{1, 2, 3}, {label, label, label}}, kDeals[0].second, world);
    EXPECT_TRUE(std::isnan(found.area)) << label;
    EXPECT_EQ(found.positives, label == 1.0F ? 3 : 0);
    EXPECT_EQ(found.negatives, label == 0.0F ? 3 : 0);
    EXPECT_EQ(found.nan_scores, 0);
  }
  EXPECT_TRUE(std::isnan(parallel::roc_auc({}, {}, world).area));
}

TEST(RocAuc, RefusesOtherLabelsAndLengths) {
  const Communicator world = Communicator::world();
  const std::vector<float> scores = {1, 2};
  for (const float label : {0.5F, 2.0F, -2.0F, std::nanf("")}) {
    const std::vector<float> labels = {1, label};
    EXPECT_THROW(parallel::roc_auc(scores, labels, world), base::DataError) << label;
  }
  const std::vector<float> labels = {1};
  EXPECT_THROW(parallel::roc_auc(scores, labels, world), base::ShapeError);
}

TEST(RocAuc, SendsEqualScoresOfARankOnlyOnce) {
  const Communicator world = Communicator::world();
  const base::SystemClock clock;
  const auto bytes_sent = [&](std::size_t samples) {
    telemetry::Telemetry telemetry(clock);
    const runner::Accounting accounting = world.account_to(telemetry);
    area_of_dealt(draw_samples(samples, 0.5, kDraws[2].second), kDeals[0].second, world);
    return telemetry.count(telemetry::Counter::kBytesSent);
  };
  EXPECT_EQ(bytes_sent(200000), bytes_sent(20000));
}

/// The number of keys in this rank's range after even_key_ranges(). `mine` is sorted.
std::int64_t dealt_to_me(const std::vector<std::uint32_t>& mine, const Communicator& world) {
  const auto below = [&](std::uint64_t bound) {
    return std::int64_t{std::lower_bound(mine.begin(), mine.end(), bound) - mine.begin()};
  };
  std::vector<std::int64_t> counts =
      parallel::even_key_ranges(below, static_cast<std::int64_t>(mine.size()), world);
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(world.size()));
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    EXPECT_GE(count, 0);
    sum += count;
  }
  EXPECT_EQ(sum, static_cast<std::int64_t>(mine.size()));
  world.allreduce_sum(std::span<std::int64_t>(counts));
  return counts[static_cast<std::size_t>(world.rank())];
}

TEST(KeyRanges, AreEvenWhereverTheKeysLie) {
  const Communicator world = Communicator::world();
  const auto me = static_cast<std::uint32_t>(world.rank());
  const auto ranks = static_cast<std::uint32_t>(world.size());
  constexpr std::uint32_t kEach = 1000;
  for (const std::uint32_t first : {0U, 0x3f800000U, 0xffffffffU - 8 * kEach}) {
    std::vector<std::uint32_t> near, turn;
    for (std::uint32_t i = 0; i < kEach; ++i) {
      near.push_back(first + me * kEach + i);
      turn.push_back(first + i * ranks + me);
    }
    EXPECT_EQ(dealt_to_me(near, world), kEach);
    EXPECT_EQ(dealt_to_me(turn, world), kEach);
  }
  // All keys on one rank.
  const std::vector<std::uint32_t> none,
      many = {1, 5, 5000, 70000, 1U << 20U, 1U << 31U, 0xfffffffeU, 0xffffffffU};
  const std::int64_t dealt = dealt_to_me(me == 0 ? many : none, world);
  EXPECT_LE(dealt, base::ceil_div(8, world.size()));
  EXPECT_EQ(dealt_to_me(none, world), 0);
}

TEST(KeyRanges, KeepEqualKeysTogether) {
  const Communicator world = Communicator::world();
  const std::vector<std::uint32_t> equal(100, 77U);
  const std::int64_t dealt = dealt_to_me(equal, world);
  EXPECT_EQ(dealt, world.rank() == 0 ? 100 * world.size() : 0);
}

}  // namespace

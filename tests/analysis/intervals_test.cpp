// Intervals: pairing, union, overlap.
#include "analysis/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runner/base/random.h"

namespace {

using analysis::covered_ms;
using analysis::Interval;
using analysis::Intervals;
using analysis::Mark;
using analysis::pair_marks;
using analysis::shared_ms;
using analysis::Window;

Interval interval(double begin, double end, double label = 0.0) {
  return {begin, end, label, 0, {}};
}

Mark mark(double time_ms, std::int64_t order, std::optional<double> label = {}) {
  return {time_ms, label, order, {}};
}

TEST(Intervals, CoverEachMomentOnce) {
  EXPECT_DOUBLE_EQ(covered_ms({interval(0, 10), interval(5, 15), interval(20, 21)}), 16.0);
}

TEST(Intervals, ThatAreEmptyOrBackwardsCoverNothing) {
  EXPECT_DOUBLE_EQ(covered_ms({interval(5, 5), interval(9, 3)}), 0.0);
}

TEST(Intervals, ShareWhatBothSetsCover) {
  EXPECT_DOUBLE_EQ(shared_ms({interval(0, 10), interval(20, 30)}, {interval(5, 25)}), 10.0);
}

TEST(PairMarks, MatchesLabelsBeforeOrder) {
  const Intervals pairs =
      pair_marks({mark(0, 0, 1), mark(1, 1, 2)}, {mark(5, 2, 2), mark(9, 3, 1)}, {0, 100});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_DOUBLE_EQ(pairs[0].begin_ms, 1);
  EXPECT_DOUBLE_EQ(pairs[0].end_ms, 5);
  EXPECT_DOUBLE_EQ(pairs[1].end_ms, 9);
}

TEST(PairMarks, TakesTheEarliestOpenStartForAStopOfAnotherLabel) {
  const Intervals pairs = pair_marks({mark(0, 0, 1)}, {mark(5, 1, 2)}, {0, 100});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(pairs[0].end_ms, 5);
}

TEST(PairMarks, EndsOpenStartsWithTheWindowAndClipsToIt) {
  const Intervals pairs = pair_marks({mark(-5, 0)}, {}, Window{0, 50});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(pairs[0].begin_ms, 0);
  EXPECT_DOUBLE_EQ(pairs[0].end_ms, 50);
}

TEST(PairMarks, LeavesAStopWithoutAnyStartAlone) {
  EXPECT_TRUE(pair_marks({}, {mark(5, 0)}, {0, 10}).empty());
}

/// Reference for pair_marks(): searches all open starts at every stop. Returns begin, end and label
/// of each interval.
std::vector<std::array<double, 3>> plain_pairs(const std::vector<Mark>& starts,
                                               const std::vector<Mark>& stops, double end_ms) {
  std::vector<std::pair<Mark, bool>> events;
  for (const Mark& one : starts) events.emplace_back(one, true);
  for (const Mark& one : stops) events.emplace_back(one, false);
  std::ranges::sort(events, {}, [](const auto& event) {
    return std::pair(event.first.time_ms, event.first.order);
  });
  std::vector<Mark> open;
  std::vector<std::array<double, 3>> pairs;
  for (const auto& [event, is_start] : events) {
    if (is_start) {
      open.push_back(event);
    } else if (!open.empty()) {
      auto closed = std::ranges::find(open, event.label, &Mark::label);
      if (closed == open.end()) closed = open.begin();
      pairs.push_back({closed->time_ms, event.time_ms, closed->label.value_or(-1.0)});
      open.erase(closed);
    }
  }
  for (const Mark& one : open) pairs.push_back({one.time_ms, end_ms, one.label.value_or(-1.0)});
  return pairs;
}

TEST(PairMarks, FindsWhatThePlainWayFindsAmongMarksOfManyRanks) {
  base::RandomStream random(5, base::Purpose::kWeights, 0, 0);
  const auto below = [&](double limit) { return std::floor(random.uniform() * limit); };
  constexpr double kEndMs = 1000.0;
  for (int log = 0; log < 300; ++log) {
    const double labels = 1.0 + below(12.0), until = 10.0 + below(200.0);
    std::vector<Mark> starts, stops;
    for (std::int64_t order = 0; order < 60; ++order) {
      std::optional<double> label = below(labels);
      if (below(10.0) == 0.0) label.reset();
      (below(2.0) == 0.0 ? starts : stops).push_back(mark(below(until), order, label));
    }
    std::vector<std::array<double, 3>> pairs;
    for (const Interval& one : pair_marks(starts, stops, Window{0, kEndMs})) {
      pairs.push_back({one.begin_ms, one.end_ms, one.label.value_or(-1.0)});
    }
    ASSERT_EQ(pairs, plain_pairs(starts, stops, kEndMs)) << log;
  }
}

TEST(ForeignOverlap, CountsTimeOfOtherLabelsOnly) {
  const Intervals epochs = {interval(0, 100, 1), interval(100, 200, 2)};
  EXPECT_DOUBLE_EQ(other_epoch_overlap_ms({interval(50, 100, 1)}, epochs), 0.0);
  EXPECT_DOUBLE_EQ(other_epoch_overlap_ms({interval(80, 130, 1)}, epochs), 30.0);
}

TEST(ForeignOverlap, CountsCopiesOfOneEvaluationOnce) {
  const Intervals epochs = {interval(0, 100, 2)};
  EXPECT_DOUBLE_EQ(other_epoch_overlap_ms({interval(10, 20, 1), interval(10, 20, 1)}, epochs),
                   10.0);
}

}  // namespace

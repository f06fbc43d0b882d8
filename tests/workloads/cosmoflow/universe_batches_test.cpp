// Tests of orientations, the cache, and widen(), against plain loops over indices.
#include "workloads/cosmoflow/universe_batches.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "workloads/kernels/plain_bf16.h"

namespace cosmoflow {
namespace {

using dataset::Universe;
using dataset::UniverseRegion;
using Point = std::array<std::int64_t, 3>;

Universe universe_of(const Point& extents, std::int64_t channels, std::uint64_t most) {
  base::RandomStream random(9, base::Purpose::kGenerate, 0, most);
  Universe universe;
  universe.extents = extents;
  universe.channels = channels;
  universe.targets = {0.1F, -0.2F, 0.3F, -0.4F};
  universe.counts.resize(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * channels));
  for (std::int16_t& count : universe.counts) {
    count = static_cast<std::int16_t>(random.below(most + 1));
  }
  return universe;
}

std::int16_t count_at(const Universe& universe, const Point& at, std::int64_t channel) {
  const Point& extents = universe.extents;
  return universe.counts.at(static_cast<std::size_t>(
      ((at[0] * extents[1] + at[1]) * extents[2] + at[2]) * universe.channels + channel));
}

/// All 48 orientations of a cube.
std::vector<Orientation> orientations() {
  std::vector<Orientation> all;
  std::array<int, 3> axes = {0, 1, 2};
  do {
    for (int flips = 0; flips < 8; ++flips) {
      all.push_back({axes, {(flips & 1) != 0, (flips & 2) != 0, (flips & 4) != 0}});
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return all;
}

/// Axis i of a training input is axis axes[i] of the sample, reversed if flips[i].
Point source_of(const Point& seen, const Point& extents, const Orientation& orientation) {
  Point source{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto from = static_cast<std::size_t>(orientation.axes[i]);
    source[from] = orientation.flips[i] ? extents[from] - 1 - seen[i] : seen[i];
  }
  return source;
}

/// Calls use(point) for every voxel of a box.
template <class Use>
void for_each_point(const Point& extents, const Use& use) {
  for (std::int64_t a = 0; a < extents[0]; ++a) {
    for (std::int64_t b = 0; b < extents[1]; ++b) {
      for (std::int64_t c = 0; c < extents[2]; ++c) use(Point{a, b, c});
    }
  }
}

double number(float value) { return static_cast<double>(value); }
double number(nn::Bf16 value) { return static_cast<double>(nn::as_float(value)); }

float log_of(std::int16_t count) { return std::log(static_cast<float>(count) + 1.0F); }

/// The expected result of widen(), with `value` for each count.
template <class Value>
std::vector<double> plainly_widened(const UniverseSample& sample, const Value& value) {
  const Universe& universe = sample.universe;
  Point extents{};
  for (std::size_t i = 0; i < 3; ++i) {
    extents[i] = universe.extents[static_cast<std::size_t>(sample.orientation.axes[i])];
  }
  std::vector<double> input(static_cast<std::size_t>((extents[0] + 2) * (extents[1] + 2) *
                                                     (extents[2] + 2) * universe.channels));
  for_each_point(extents, [&](const Point& seen) {
    const Point source = source_of(seen, universe.extents, sample.orientation);
    const std::int64_t at =
        ((seen[0] + 1) * (extents[1] + 2) + seen[1] + 1) * (extents[2] + 2) + seen[2] + 1;
    for (std::int64_t channel = 0; channel < universe.channels; ++channel) {
      input[static_cast<std::size_t>(at * universe.channels + channel)] =
          static_cast<double>(value(count_at(universe, source, channel)));
    }
  });
  return input;
}

/// Fills the input beforehand, to detect elements that are not overwritten.
template <class T, class Value>
void expect_widened(const UniverseSample& sample, bool apply_log, const Value& value) {
  const std::vector<double> expected = plainly_widened(sample, value);
  T before{};
  std::memset(static_cast<void*>(&before), 0x41, sizeof(before));
  std::vector<T> input(expected.size(), before);
  widen<T>(sample, apply_log, input);
  for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(number(input[i]), expected[i]) << i;
}

TEST(Widen, SeesASampleInEveryOrientation) {
  UniverseSample sample;
  sample.index = 0;
  sample.universe = universe_of({3, 4, 6}, 4, 5);
  for (const Orientation& orientation : orientations()) {
    sample.orientation = orientation;
    expect_widened<float>(sample, true, log_of);
    expect_widened<nn::Bf16>(sample, true,
                             [](std::int16_t count) { return plain::to_bf16(log_of(count)); });
  }
}

TEST(Widen, TakesLogarithmsOfAllCounts) {
  UniverseSample sample;
  sample.universe = universe_of({8, 8, 8}, 3, 32'767);
  sample.universe.counts[17] = 32'767;
  sample.universe.counts[18] = 0;
  expect_widened<float>(sample, true, log_of);
  for (const std::int16_t count : std::initializer_list<std::int16_t>{0, 1, 255, 256, 32'767}) {
    // within single precision
    EXPECT_NEAR(log_of(count), std::log1p(static_cast<double>(count)), 1e-6) << count;
  }
}

TEST(Widen, DividesByTheMeanOfAllChannels) {
  UniverseSample sample;
  sample.universe = universe_of({4, 2, 6}, 4, 9);
  const auto& counts = sample.universe.counts;
  const auto mean = static_cast<float>(std::accumulate(counts.begin(), counts.end(), 0.0) /
                                       static_cast<double>(counts.size()));
  const auto share = [&](std::int16_t count) { return static_cast<float>(count) / mean; };
  expect_widened<float>(sample, false, share);
  expect_widened<nn::Bf16>(sample, false,
                           [&](std::int16_t count) { return plain::to_bf16(share(count)); });
  // All zeros stay zeros.
  sample.universe = universe_of({2, 2, 2}, 1, 0);
  expect_widened<float>(sample, false, [](std::int16_t) { return 0.0F; });
}

TEST(DrawOrientation, DrawsAllOfThemAlike) {
  constexpr int kDraws = 48'000;
  std::map<std::pair<std::array<int, 3>, std::array<bool, 3>>, int> drawn;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    base::RandomStream random(3, base::Purpose::kAugment, 0, i);
    const Orientation orientation = draw_orientation(random, true, true);
    ++drawn[{orientation.axes, orientation.flips}];
  }
  ASSERT_EQ(drawn.size(), 48U);
  for (const Orientation& orientation : orientations()) {
    // Five standard deviations of a count of 1000.
    EXPECT_NEAR((drawn[{orientation.axes, orientation.flips}]), kDraws / 48, 160);
  }
}

TEST(DrawOrientation, TurnsNothingUnlessAsked) {
  std::set<std::array<int, 3>> axes;
  std::set<std::array<bool, 3>> flips;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    base::RandomStream random(3, base::Purpose::kAugment, 0, i);
    EXPECT_EQ(draw_orientation(random, false, false), Orientation());
    const Orientation mirrored = draw_orientation(random, true, false);
    EXPECT_EQ(mirrored.axes, Orientation().axes);
    flips.insert(mirrored.flips);
    const Orientation swapped = draw_orientation(random, false, true);
    EXPECT_EQ(swapped.flips, Orientation().flips);
    axes.insert(swapped.axes);
  }
  EXPECT_EQ(flips.size(), 8U);
  EXPECT_EQ(axes.size(), 6U);
}

/// The voxels of source_region() are those that the oriented region shows.
TEST(SourceRegion, IsWhatIsSeenThere) {
  constexpr std::int64_t kExtent = 6;
  const Point whole = {kExtent, kExtent, kExtent};
  for (const UniverseRegion& seen :
       {UniverseRegion{{0, 0, 0}, {6, 6, 6}}, UniverseRegion{{0, 3, 0}, {2, 3, 6}},
        UniverseRegion{{4, 1, 2}, {2, 1, 3}}}) {
    for (const Orientation& orientation : orientations()) {
      std::set<Point> expected, found;
      for_each_point(seen.count, [&](Point at) {
        for (std::size_t i = 0; i < 3; ++i) at[i] += seen.first[i];
        expected.insert(source_of(at, whole, orientation));
      });
      const UniverseRegion source = source_region(seen, kExtent, orientation);
      for_each_point(source.count, [&](Point at) {
        for (std::size_t i = 0; i < 3; ++i) at[i] += source.first[i];
        found.insert(at);
      });
      EXPECT_EQ(found, expected);
    }
  }
}

/// A part that is read by itself and oriented equals that part of the oriented whole.
TEST(SourceRegion, GivesPartsOfWhatIsTurned) {
  constexpr std::int64_t kExtent = 6, kChannels = 2;
  const Universe whole = universe_of({kExtent, kExtent, kExtent}, kChannels, 300);
  const UniverseRegion seen = {{2, 3, 0}, {2, 3, 6}};
  for (const Orientation& orientation : orientations()) {
    const UniverseRegion region = source_region(seen, kExtent, orientation);
    UniverseSample part;
    part.orientation = orientation;
    part.universe = {region.count, kChannels, {}, {}};
    for_each_point(region.count, [&](Point at) {
      for (std::size_t i = 0; i < 3; ++i) at[i] += region.first[i];
      for (std::int64_t c = 0; c < kChannels; ++c) {
        part.universe.counts.push_back(count_at(whole, at, c));
      }
    });
    std::vector<float> input(static_cast<std::size_t>(4 * 5 * 8 * kChannels));
    widen<float>(part, true, input);
    for_each_point(seen.count, [&](const Point& at) {
      const Point global = {at[0] + seen.first[0], at[1] + seen.first[1], at[2] + seen.first[2]};
      const std::int64_t place = ((at[0] + 1) * 5 + at[1] + 1) * 8 + at[2] + 1;
      const Point source = source_of(global, whole.extents, orientation);
      for (std::int64_t c = 0; c < kChannels; ++c) {
        ASSERT_EQ(input[static_cast<std::size_t>(place * kChannels + c)],
                  log_of(count_at(whole, source, c)));
      }
    });
  }
}

void expect_found(const UniverseCache& cache, std::int64_t index, const Universe& expected) {
  Universe found = universe_of({2, 2, 2}, 1, 3);  // to be overwritten
  ASSERT_TRUE(cache.find(index, found));
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.extents, expected.extents);
  EXPECT_EQ(found.channels, expected.channels);
  EXPECT_EQ(found.targets, expected.targets);
}

TEST(UniverseCache, GivesBackExactCounts) {
  UniverseCache cache(1'000'000);
  for (const std::uint64_t most : {0, 1, 255, 256, 32'767}) {
    const Universe universe = universe_of({3, 5, 4}, 4, most);
    const auto index = static_cast<std::int64_t>(most);
    Universe nothing;
    EXPECT_FALSE(cache.find(index, nothing));
    cache.keep(index, universe);
    expect_found(cache, index, universe);
  }
  EXPECT_EQ(cache.samples(), 5);
}

TEST(UniverseCache, TakesOneByteOfACountWhereThatIsEnough) {
  Universe narrow = universe_of({5, 5, 4}, 1, 200), wide = narrow;
  narrow.counts[3] = 255;
  wide.counts[3] = 256;
  for (const auto& [universe, bytes] : {std::pair(narrow, 100), std::pair(wide, 200)}) {
    UniverseCache fitting(2 * bytes), small(bytes - 1);
    small.keep(0, universe);
    EXPECT_EQ(small.samples(), 0);
    fitting.keep(0, universe);
    fitting.keep(0, universe);  // already present
    fitting.keep(1, universe);
    fitting.keep(2, universe);
    EXPECT_EQ(fitting.samples(), 2);
    expect_found(fitting, 0, universe);
    expect_found(fitting, 1, universe);
    Universe nothing;
    EXPECT_FALSE(fitting.find(2, nothing));
  }
}

TEST(UniverseCache, KeepsWhatIsSmallerWhereALargerOneWasRefused) {
  UniverseCache cache(150);
  const Universe large = universe_of({5, 5, 8}, 1, 9), small = universe_of({5, 5, 4}, 1, 9);
  cache.keep(0, large);
  cache.keep(1, small);
  Universe nothing;
  EXPECT_FALSE(cache.find(0, nothing));
  expect_found(cache, 1, small);
}

TEST(UniverseBatches, ComeInOrderWhateverTheThreads) {
  for (const int threads : {1, 3}) {
    const auto fill = [](std::int64_t batch, std::int64_t slot, UniverseSample& sample) {
      sample.index = 10 * batch + slot;
    };
    UniverseBatches batches(threads, 2, 3, 4, 12, fill);
    for (std::int64_t batch = 4; batch < 12; ++batch) {
      const UniverseBatch& next = batches.next();
      ASSERT_EQ(next.size(), 3U);
      for (std::int64_t slot = 0; slot < 3; ++slot) {
        EXPECT_EQ(next[static_cast<std::size_t>(slot)].index, 10 * batch + slot);
      }
    }
  }
}

}  // namespace
}  // namespace cosmoflow

// Tests of how climate samples are cached, shared and normalised.
#include "workloads/deepcam/climate_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/plain_bf16.h"

namespace deepcam {
namespace {

using dataset::ClimateSample;

ClimateSample sample_of(std::int64_t height, std::int64_t width, std::uint64_t number) {
  base::RandomStream random(9, base::Purpose::kGenerate, 0, number);
  ClimateSample sample{height, width, dataset::kClimateChannels, {}, {}};
  for (std::int64_t point = 0; point < height * width; ++point) {
    for (std::int64_t channel = 0; channel < sample.channels; ++channel) {
      sample.values.push_back(static_cast<float>(random.normal() * std::pow(10.0, channel - 8)));
    }
    sample.labels.push_back(static_cast<std::uint8_t>(random.below(3)));
  }
  return sample;
}

dataset::ClimateStatistics statistics() {
  dataset::ClimateStatistics statistics;
  for (std::size_t i = 0; i < statistics.minval.size(); ++i) {
    const auto scale = static_cast<float>(std::pow(10.0, static_cast<double>(i) - 8.0));
    statistics.minval[i] = -3.3F * scale;
    statistics.maxval[i] = 2.9F * scale;
  }
  return statistics;
}

TEST(NormalizeInto, IsThePlainFormula) {
  const ClimateSample sample = sample_of(5, 7, 1);
  const dataset::ClimateStatistics of = statistics();
  std::vector<float> input(sample.values.size());
  std::vector<nn::Bf16> halves(sample.values.size());
  normalize_into<float>(sample, of, input);
  normalize_into<nn::Bf16>(sample, of, halves);
  for (std::size_t at = 0; at < input.size(); ++at) {
    const std::size_t channel = at % 16;
    const float expected =
        (sample.values[at] - of.minval[channel]) / (of.maxval[channel] - of.minval[channel]);
    EXPECT_EQ(input[at], expected);
    EXPECT_EQ(nn::as_float(halves[at]), plain::to_bf16(expected));
    const double exactly =
        (static_cast<double>(sample.values[at]) - static_cast<double>(of.minval[channel])) /
        (static_cast<double>(of.maxval[channel]) - static_cast<double>(of.minval[channel]));
    EXPECT_NEAR(static_cast<double>(input[at]), exactly, 1e-6);
  }
}

TEST(NormalizeInto, GivesTheEndsOfTheRange) {
  ClimateSample sample = sample_of(1, 2, 1);
  const dataset::ClimateStatistics of = statistics();
  std::copy(of.minval.begin(), of.minval.end(), sample.values.begin());
  std::copy(of.maxval.begin(), of.maxval.end(), sample.values.begin() + 16);
  std::vector<float> input(32);
  normalize_into<float>(sample, of, input);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(input[i], 0.0F);
    EXPECT_EQ(input[i + 16], 1.0F);
  }
}

TEST(NormalizeInto, RefusesInputOfAnotherSize) {
  ClimateSample sample = sample_of(2, 2, 1);
  std::vector<float> input(63);
  EXPECT_THROW(normalize_into<float>(sample, statistics(), input), base::ShapeError);
  sample.channels = 8;
  input.resize(64);
  EXPECT_THROW(normalize_into<float>(sample, statistics(), input), base::ShapeError);
}

/// Fills slots and counts the reads.
class Slots : public testing::Test {
 protected:
  void fill(ClimateSlot& slot, std::int64_t index, ClimateCache& cache) {
    slot.fill(index, cache, [&](ClimateSample& sample) {
      ++reads_;
      sample = sample_of(2, 3, static_cast<std::uint64_t>(index));
    });
    EXPECT_EQ(slot.index(), index);
    EXPECT_EQ(slot.sample().values, sample_of(2, 3, static_cast<std::uint64_t>(index)).values);
    EXPECT_EQ(slot.sample().labels, sample_of(2, 3, static_cast<std::uint64_t>(index)).labels);
  }
  static constexpr std::int64_t kBytes = 6 * (16 * 4 + 1);
  int reads_ = 0;
};

TEST_F(Slots, AreFilledFromTheCacheWhereItHasTheSample) {
  ClimateCache cache(2 * kBytes + kBytes / 2);
  ClimateSlot slot, other;
  for (const std::int64_t index : {3, 5, 3, 5, 3}) fill(slot, index, cache);
  fill(other, 5, cache);
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(cache.samples(), 2);
  for (const std::int64_t index : {7, 3, 7}) fill(slot, index, cache);  // no room for sample 7
  EXPECT_EQ(reads_, 4);
  EXPECT_EQ(cache.samples(), 2);
  fill(other, 3, cache);  // unchanged
}

TEST_F(Slots, ShareASampleWithTheCacheAndKeepTheirOwnMemoryElse) {
  ClimateCache cache(kBytes), none(0);
  ClimateSlot first, second;
  fill(first, 1, cache);
  fill(second, 1, cache);
  EXPECT_EQ(&first.sample(), &second.sample());
  fill(second, 2, none);
  const ClimateSample* own = &second.sample();
  fill(second, 3, none);
  EXPECT_EQ(&second.sample(), own);
  fill(first, 4, none);
  fill(second, 1, cache);
  EXPECT_NE(&first.sample(), &second.sample());
}

TEST_F(Slots, CanHoldNothing) {
  ClimateCache none(0);
  ClimateSlot slot;
  EXPECT_EQ(slot.index(), -1);
  fill(slot, 1, none);
  slot.fill_with_nothing();
  EXPECT_EQ(slot.index(), -1);
}

TEST(SampleCache, KeepsWhatIsSmallerWhereALargerOneWasRefused) {
  staging::SampleCache<int> cache(10);
  EXPECT_FALSE(cache.reserve(1, 11));
  EXPECT_TRUE(cache.reserve(2, 7));
  EXPECT_FALSE(cache.reserve(2, 1));  // already reserved
  EXPECT_EQ(cache.find(2), nullptr);
  cache.keep(2, std::make_shared<const int>(42));
  EXPECT_EQ(*cache.find(2), 42);
  EXPECT_FALSE(cache.reserve(3, 4));
  EXPECT_TRUE(cache.reserve(4, 3));
  EXPECT_EQ(cache.samples(), 2);
}

TEST(ClimateBatches, ComeInOrderWhateverTheThreads) {
  for (const int threads : {1, 3}) {
    ClimateCache none(0);
    const auto fill = [&](std::int64_t batch, std::int64_t slot, ClimateSlot& into) {
      if (slot == 2) return into.fill_with_nothing();
      into.fill(10 * batch + slot, none, [&](ClimateSample& sample) {
        sample = sample_of(1, 2, static_cast<std::uint64_t>(10 * batch + slot));
      });
    };
    ClimateBatches batches(threads, 2, 3, 4, 12, fill);
    for (std::int64_t batch = 4; batch < 12; ++batch) {
      const ClimateBatch& next = batches.next();
      ASSERT_EQ(next.size(), 3U);
      for (std::int64_t slot = 0; slot < 2; ++slot) {
        const ClimateSlot& found = next[static_cast<std::size_t>(slot)];
        EXPECT_EQ(found.index(), 10 * batch + slot);
        EXPECT_EQ(found.sample().values,
                  sample_of(1, 2, static_cast<std::uint64_t>(10 * batch + slot)).values);
      }
      EXPECT_EQ(next[2].index(), -1);
    }
  }
}

}  // namespace
}  // namespace deepcam

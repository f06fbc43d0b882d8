// The random streams against published vectors, and the permutation as a bijection.
#include "runner/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "runner/base/error.h"

namespace base {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers for philox4x32-10 from the Random123 distribution (tests/kat_vectors).
TEST(Philox, GivesTheKnownAnswerForZeros) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, GivesTheKnownAnswerForOnes) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, GivesTheKnownAnswerForTheDigitsOfPi) {
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, RepeatsWithEqualArgumentsAndDiffersWithAnyOther) {
  const auto first = [](std::uint64_t seed, Purpose purpose, std::uint64_t epoch,
                        std::uint64_t index) {
    return RandomStream(seed, purpose, epoch, index).next_u64();
  };
  const std::uint64_t reference = first(7, Purpose::kAugment, 3, 11);
  EXPECT_EQ(first(7, Purpose::kAugment, 3, 11), reference);
  EXPECT_NE(first(8, Purpose::kAugment, 3, 11), reference);
  EXPECT_NE(first(7 + (1ull << 40), Purpose::kAugment, 3, 11), reference);
  EXPECT_NE(first(7, Purpose::kShuffle, 3, 11), reference);
  EXPECT_NE(first(7, Purpose::kAugment, 4, 11), reference);
  EXPECT_NE(first(7, Purpose::kAugment, 3, 12), reference);
  EXPECT_NE(first(7, Purpose::kAugment, 3, 11 + (1ull << 40)), reference);
}

TEST(RandomStream, UniformFillsTheUnitIntervalEvenly) {
  RandomStream stream(1, Purpose::kAugment, 0, 0);
  constexpr int kBins = 20, kDraws = 20000;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const double value = stream.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++bins[static_cast<std::size_t>(value * kBins)];
  }
  double chi_square = 0;
  for (const int n : bins) chi_square += std::pow(n - kDraws / kBins, 2) / (kDraws / kBins);
  EXPECT_LT(chi_square, 43.8);  // 99.9 % quantile with 19 degrees of freedom
}

TEST(RandomStream, UniformStaysBelowItsUpperEnd) {
  RandomStream stream(1, Purpose::kAugment, 0, 1);
  const double high = std::nextafter(1.0, 2.0);  // every sum rounds to one of the two ends
  for (int i = 0; i < 1000; ++i) {
    const double value = stream.uniform(1.0, high);
    ASSERT_GE(value, 1.0);
    ASSERT_LT(value, high);
  }
}

TEST(RandomStream, BelowReachesEveryValueAndNoOther) {
  RandomStream stream(5, Purpose::kGenerate, 0, 0);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen.at(stream.below(7));
  for (const int n : seen) EXPECT_NEAR(n, 1000, 150);  // five standard deviations
  EXPECT_EQ(stream.below(1), 0u);
  const std::uint64_t huge = (1ull << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.below(huge), huge);
}

TEST(RandomStream, BelowRefusesAnEmptyRange) {
  RandomStream stream(5, Purpose::kGenerate, 0, 0);
  EXPECT_THROW(stream.below(0), Error);
}

TEST(RandomStream, NormalHasTheMomentsOfANormal) {
  RandomStream stream(9, Purpose::kWeights, 0, hash_name("conv1.weight"));
  constexpr int kDraws = 40000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
  }
  // Four standard errors of each moment.
  EXPECT_NEAR(sum / kDraws, 0.0, 4 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(cubes / kDraws, 0.0, 4 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3.0, 4 * std::sqrt(96.0 / kDraws));
}

TEST(RandomStream, TruncatedNormalStaysWithinTwoDeviations) {
  RandomStream stream(9, Purpose::kWeights, 0, 2);
  double squares = 0, largest = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.truncated_normal();
    ASSERT_LE(std::abs(x), 2.0);
    squares += x * x;
    largest = std::max(largest, std::abs(x));
  }
  EXPECT_NEAR(squares / kDraws, 0.7737413, 0.03);  // 1 - 4 phi(2) / (2 Phi(2) - 1)
  EXPECT_GT(largest, 1.95);
}

TEST(HashName, IsFnv1a) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

TEST(Permutation, IsABijectionForManySizes) {
  for (const std::uint64_t count :
       {1ull,    2ull,    3ull,    4ull,    5ull,    15ull,    16ull,
        17ull,   63ull,   64ull,   65ull,   255ull,  256ull,   257ull,
        1000ull, 1023ull, 1024ull, 1025ull, 4097ull, 16385ull, 50000ull}) {
    const Permutation permutation(count, 42, count % 5);
    std::vector<bool> seen(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t element = permutation(i);
      ASSERT_LT(element, count);
      ASSERT_FALSE(seen[element]) << "size " << count << ", element " << element;
      seen[element] = true;
    }
  }
}

TEST(Permutation, FindsThePositionOfEveryElement) {
  for (const std::uint64_t count : {1ull, 2ull, 3ull, 255ull, 256ull, 257ull, 1025ull, 16385ull}) {
    const Permutation permutation(count, 42, count % 5);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(permutation.position_of(permutation(i)), i) << "size " << count;
    }
  }
  for (const std::uint64_t count : {(1ull << 40) + 3, ~0ull}) {
    const Permutation permutation(count, 1, 0);
    for (std::uint64_t i = count - 1000; i < count; ++i) {
      ASSERT_EQ(permutation.position_of(permutation(i)), i) << "size " << count;
    }
  }
}

TEST(Permutation, StaysWithinHugeRanges) {
  for (const std::uint64_t count : {(1ull << 40) + 3, ~0ull}) {
    const Permutation permutation(count, 1, 0);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(permutation(count - 1 - i));
    EXPECT_EQ(seen.size(), 1000u);
    EXPECT_LT(*seen.rbegin(), count);
  }
}

TEST(Permutation, PutsEveryElementAtEveryPlaceEquallyOften) {
  constexpr std::uint64_t kCount = 10;
  constexpr int kEpochs = 5000;
  for (std::uint64_t place = 0; place < kCount; ++place) {
    std::vector<int> seen(kCount);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      ++seen[Permutation(kCount, 3, static_cast<std::uint64_t>(epoch))(place)];
    }
    double chi_square = 0;
    for (const int n : seen) chi_square += std::pow(n - kEpochs / 10, 2) / (kEpochs / 10);
    EXPECT_LT(chi_square, 33.7) << place;  // 99.99 % quantile with 9 degrees of freedom
  }
}

TEST(Permutation, LeavesNoOrderBetweenNeighbours) {
  constexpr std::uint64_t kCount = 50000;
  const Permutation permutation(kCount, 11, 2);
  int rises = 0, fixed = 0, adjacent = 0;
  for (std::uint64_t i = 0; i + 1 < kCount; ++i) {
    const std::uint64_t here = permutation(i), next = permutation(i + 1);
    rises += next > here;
    fixed += here == i;
    adjacent += next == here + 1;
  }
  EXPECT_NEAR(rises, kCount / 2, 4 * std::sqrt(kCount / 12.0));
  EXPECT_LT(fixed, 10);  // one is expected of a random permutation
  EXPECT_LT(adjacent, 10);
}

TEST(Permutation, ChangesWithSeedAndEpoch) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::uint64_t> all;
    const Permutation permutation(100, seed, epoch);
    for (std::uint64_t i = 0; i < 100; ++i) all.push_back(permutation(i));
    return all;
  };
  EXPECT_EQ(order(1, 1), order(1, 1));
  EXPECT_NE(order(1, 1), order(2, 1));
  EXPECT_NE(order(1, 1), order(1, 2));
}

TEST(Permutation, RefusesAPositionBeyondItsEnd) {
  EXPECT_THROW(Permutation(10, 1, 1)(10), Error);
  EXPECT_THROW(Permutation(0, 1, 1)(0), Error);
  EXPECT_THROW(Permutation(10, 1, 1).position_of(10), Error);
}

}  // namespace
}  // namespace base

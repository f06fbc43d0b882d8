// Sentences of files in memory, and the order of training.
#include "workloads/gnmt/sentence_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "workloads/gnmt/epoch_order.h"

namespace {

using gnmt::EpochOrder;
using gnmt::SentencePairs;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

std::vector<int> ids_of(const gnmt::Sentences& sentences, std::int64_t index) {
  const auto ids = sentences[index];
  return {ids.begin(), ids.end()};
}

class SentencesTest : public testing::Test {
 protected:
  SentencePairs pairs(const std::string& source, const std::string& target,
                      std::int64_t max_length = 50) const {
    return gnmt::read_pairs(folder_.write("train.en", source), folder_.write("train.de", target),
                            vocabulary_, max_length);
  }
  std::string refusal(const std::string& source, const std::string& target,
                      std::int64_t max_length = 50) const {
    return base::thrown_message<base::DataError>([&] { pairs(source, target, max_length); });
  }
  gnmt::Sentences sentences(const std::string& text, std::int64_t max_length) const {
    return gnmt::read_sentences(folder_.write("test.en", text), vocabulary_, max_length);
  }

 private:
  const base::TemporaryDirectory folder_;
  const gnmt::Vocabulary vocabulary_{folder_.write("vocab", "a\nb\nc\nx\n")};
};

TEST_F(SentencesTest, ArePairedLineByLine) {
  const SentencePairs read = pairs("a b\nc\n", "x\nx y x\n");
  EXPECT_EQ(read.source.size(), 2);
  EXPECT_EQ(read.target.size(), 2);
  EXPECT_THAT(ids_of(read.source, 0), ElementsAre(2, 4, 5, 3));
  EXPECT_THAT(ids_of(read.target, 0), ElementsAre(2, 7, 3));
  EXPECT_THAT(ids_of(read.target, 1), ElementsAre(2, 7, 1, 7, 3));
  EXPECT_EQ(read.source.length(0), 4);
  EXPECT_EQ(read.source.words(), 7);
  EXPECT_EQ(read.unknown, 1);
  EXPECT_EQ(read.dropped, 0);
}

TEST_F(SentencesTest, OfMoreThanTheLimitAreDroppedWithTheirPartners) {
  const SentencePairs read = pairs("a a a\nb\na\nc c\n", "x\nx x x\nx x\nx\n", 4);
  EXPECT_EQ(read.dropped, 2);
  ASSERT_EQ(read.source.size(), 2);
  EXPECT_THAT(ids_of(read.source, 0), ElementsAre(2, 4, 3));
  EXPECT_THAT(ids_of(read.target, 1), ElementsAre(2, 7, 3));
}

TEST_F(SentencesTest, ThatAreNoPairsAreRefused) {
  EXPECT_THAT(refusal("a\nb\n", "x\n"),
              testing::AllOf(testing::HasSubstr("train.en:2: expected the "
                                                "end of the file, as "),
                             EndsWith("train.de has no such line")));
  EXPECT_THAT(refusal("a\n", "x\nx\nx\n"), EndsWith("train.en has no such line"));
  EXPECT_THAT(refusal("a\n \n", "x\nx\n"),
              EndsWith("train.en:2: expected a sentence, found no word"));
  EXPECT_THAT(refusal("a a\n", "x\n", 3),
              EndsWith("train.en: expected sentences of at most 1 words in both languages, found 1 "
                       "pairs with longer ones"));
  EXPECT_THAT(refusal("a\n", "x\xFF\n"),
              EndsWith("train.de:1: byte 2: expected UTF-8, found byte 0xff"));
}

TEST_F(SentencesTest, OfATestAreAllKept) {
  const gnmt::Sentences read = sentences("a b\nc\n", 4);
  EXPECT_EQ(read.size(), 2);
  EXPECT_THAT(ids_of(read, 1), ElementsAre(2, 6, 3));
  const auto refused = [this](const std::string& text) {
    return base::thrown_message<base::DataError>([&] { sentences(text, 4); });
  };
  EXPECT_THAT(refused("a b\na b c\n"), EndsWith("test.en:2: expected at most 2 words, found 3"));
  EXPECT_THAT(refused(""), EndsWith("test.en: expected a sentence a line, found an empty file"));
}

/// A sentence of `length` words with `<s>` and `<\s>`.
std::vector<gnmt::WordId> sentence_of(std::int64_t length) {
  std::vector<gnmt::WordId> sentence(static_cast<std::size_t>(length), 4);
  sentence.front() = gnmt::kBegin;
  sentence.back() = gnmt::kEnd;
  return sentence;
}

constexpr std::int64_t kMaxLength = 50, kBatch = 4;

/// Lengths of 3 to 50 words, of the source in even pairs and of the target in odd ones.
SentencePairs graded_pairs() {
  SentencePairs pairs;
  for (std::int64_t i = 0; i < 200; ++i) {
    const std::int64_t longer = 3 + i % 48;
    pairs.source.append(sentence_of(i % 2 == 0 ? longer : 3));
    pairs.target.append(sentence_of(i % 2 == 0 ? 3 : longer));
  }
  return pairs;
}

std::size_t bucket_of(const SentencePairs& pairs, std::int64_t index) {
  return EpochOrder::bucket_of(pairs.source.length(index), pairs.target.length(index), kMaxLength);
}

std::vector<std::vector<std::int64_t>> epoch_of(const EpochOrder& order, std::int64_t epoch) {
  std::vector<std::vector<std::int64_t>> batches;
  for (std::int64_t b = 0; b < order.batches(); ++b) batches.push_back(order.pairs_of(epoch, b));
  return batches;
}

TEST(EpochOrder, PutsPairsIntoBucketsByTheLongerSentence) {
  EXPECT_EQ(EpochOrder::bucket_of(9, 3, 50), 0u);
  EXPECT_EQ(EpochOrder::bucket_of(3, 10, 50), 1u);
  EXPECT_EQ(EpochOrder::bucket_of(49, 3, 50), 4u);
  EXPECT_EQ(EpochOrder::bucket_of(50, 50, 50), 4u);
  EXPECT_EQ(EpochOrder::bucket_of(10, 3, 48), 1u);  // width 10
  EXPECT_EQ(EpochOrder::bucket_of(9, 3, 48), 0u);
}

TEST(EpochOrder, FillsBatchesFromOneBucketEach) {
  const SentencePairs pairs = graded_pairs();
  const EpochOrder order(pairs, kMaxLength, kBatch, 1);
  std::int64_t expected = 0;
  std::vector<std::int64_t> sizes(EpochOrder::kBuckets);
  for (std::int64_t i = 0; i < pairs.source.size(); ++i) ++sizes[bucket_of(pairs, i)];
  for (const std::int64_t size : sizes) expected += size / kBatch;
  EXPECT_EQ(order.batches(), expected);
  EXPECT_LT(order.batches() * kBatch, pairs.source.size());  // some are left out
  std::set<std::int64_t> seen;
  std::vector<std::size_t> buckets;
  for (const auto& batch : epoch_of(order, 0)) {
    ASSERT_EQ(batch.size(), static_cast<std::size_t>(kBatch));
    buckets.push_back(bucket_of(pairs, batch[0]));
    for (const std::int64_t index : batch) {
      EXPECT_EQ(bucket_of(pairs, index), buckets.back());
      EXPECT_TRUE(seen.insert(index).second) << index;
    }
  }
  EXPECT_FALSE(std::is_sorted(buckets.begin(), buckets.end()));
}

TEST(EpochOrder, DependsOnSeedAndEpochAlone) {
  const SentencePairs pairs = graded_pairs();
  const auto epoch = [&](std::uint64_t seed, std::int64_t number) {
    return epoch_of(EpochOrder(pairs, kMaxLength, kBatch, seed), number);
  };
  EXPECT_EQ(epoch(1, 0), epoch(1, 0));
  EXPECT_NE(epoch(1, 0), epoch(1, 1));
  EXPECT_NE(epoch(1, 0), epoch(2, 0));
  auto sorted = [](std::vector<std::vector<std::int64_t>> batches) {
    for (auto& batch : batches) std::sort(batch.begin(), batch.end());
    std::sort(batches.begin(), batches.end());
    return batches;
  };
  EXPECT_NE(sorted(epoch(1, 0)), sorted(epoch(1, 1)));  // not only batches are shuffled
}

TEST(EpochOrder, NeedsABucketOfABatch) {
  const SentencePairs pairs = graded_pairs();
  EXPECT_THAT(
      base::thrown_message<base::ConfigError>([&] { EpochOrder(pairs, kMaxLength, 64, 1); }),
      EndsWith("of like length, got 64"));
}

}  // namespace

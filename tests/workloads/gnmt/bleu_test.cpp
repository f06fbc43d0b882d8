// BLEU against sacreBLEU 1.2.10's own results.
#include "workloads/gnmt/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "workloads/gnmt/tokens.h"

namespace {

using gnmt::Bleu;
using gnmt::BleuCounts;
using gnmt::Casing;
using gnmt::Smoothing;
using gnmt::Tokenizer;
using testing::ElementsAre;

constexpr double kRounding = 1e-9;  // the figures have ten decimals

using Corpus = std::vector<std::array<std::string, 2>>;  ///< hypothesis and reference

const Corpus kGerman = {
    {"Die Katze sitzt auf der Matte.", "Die Katze saß auf der Matte."},
    {"Es gibt viele Leute hier, sagte er.", "Es sind viele Leute hier, sagte Er."},
    {"Das kostet 1,000.50 Euro!", "Das kostet nur 1,000.50 Euro."}};

BleuCounts counts_of(const Corpus& corpus, Tokenizer tokenizer, Casing casing) {
  BleuCounts counts;
  for (const auto& [hypothesis, reference] : corpus) {
    counts += gnmt::count_sentence(gnmt::words_of(hypothesis, tokenizer, casing),
                                   gnmt::words_of(reference, tokenizer, casing));
  }
  return counts;
}

double plain_bleu(const Corpus& corpus, Smoothing smoothing = Smoothing::kExp) {
  return gnmt::bleu_of(counts_of(corpus, Tokenizer::kNone, Casing::kKept), smoothing).score;
}

TEST(Bleu, IsTheOneOfTheRules) {
  const Bleu bleu = gnmt::bleu_of(counts_of(kGerman, Tokenizer::kIntl, Casing::kLower));
  EXPECT_THAT(bleu.counts.correct, ElementsAre(18, 12, 7, 5));
  EXPECT_THAT(bleu.counts.total, ElementsAre(21, 18, 15, 12));
  EXPECT_EQ(bleu.counts.hypothesis_words, 21);
  EXPECT_EQ(bleu.counts.reference_words, 22);
  EXPECT_NEAR(bleu.brevity_penalty, 0.9534969548, kRounding);
  EXPECT_NEAR(bleu.precisions[3], 100.0 * 5 / 12, kRounding);
  EXPECT_NEAR(bleu.score, 55.0501723545, kRounding);
}

TEST(Bleu, IsThatOfTheOtherTokenizer) {
  EXPECT_NEAR(gnmt::bleu_of(counts_of(kGerman, Tokenizer::k13a, Casing::kLower)).score,
              55.0501723545, kRounding);
  EXPECT_NEAR(gnmt::bleu_of(counts_of(kGerman, Tokenizer::k13a, Casing::kKept)).score,
              41.9530248453, kRounding);
}

TEST(Bleu, CountsAWordAsOftenAsTheReferenceHasIt) {
  EXPECT_NEAR(plain_bleu({{"the the the the the the the", "the cat is on the mat"}}), 7.8098498423,
              kRounding);
}

TEST(Bleu, SmoothsOrdersWithoutACorrectNgram) {
  EXPECT_NEAR(plain_bleu({{"a b c d", "a b x d"}}), 35.3553390593, kRounding);
  EXPECT_EQ(plain_bleu({{"a b c d", "a b x d"}}, Smoothing::kNone), 0.0);
}

TEST(Bleu, IsZeroWithoutAnNgramOfTheFullOrder) {
  EXPECT_EQ(plain_bleu({{"the cat", "the cat sat"}}), 0.0);
  EXPECT_EQ(plain_bleu({{"", "a b c d e"}}), 0.0);
  EXPECT_EQ(gnmt::bleu_of({}).score, 0.0);
}

TEST(Bleu, PunishesShortHypotheses) {
  EXPECT_NEAR(plain_bleu({{"a b c d e f", "a b c d e f g h"}}), 71.6531310574, kRounding);
  EXPECT_NEAR(plain_bleu({{"", "x y"}, {"a b c d e", "a b c d e"}}), 67.0320046036, kRounding);
  EXPECT_NEAR(plain_bleu({{"a b c d e f", "a b c d e f"}}), 100.0, kRounding);
}

TEST(BleuCounts, OfPartsAddUp) {
  const auto of = [](const Corpus& corpus) {
    return counts_of(corpus, Tokenizer::kIntl, Casing::kLower);
  };
  BleuCounts sum = of({kGerman[2]});
  sum += of({kGerman[0], kGerman[1]});
  EXPECT_EQ(sum, of(kGerman));
  EXPECT_NE(sum, of({kGerman[0], kGerman[1]}));
}

}  // namespace

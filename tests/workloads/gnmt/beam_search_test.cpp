// Beam search against the reference's own results, and against a plain twin.
#include "workloads/gnmt/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "runner/base/thrown_message.h"

namespace {

using gnmt::Beam;
using gnmt::BeamSearchOptions;
using gnmt::Coverage;
using gnmt::DecoderStep;
using gnmt::Translation;
using gnmt::WordId;
using testing::ElementsAre;

constexpr std::size_t kVocabulary = 6, kPositions = 4;
constexpr double kFloatRounding = 2e-6;  // logits are floats, scores sums of a few of them

/// Uniform in [-a, a), a function of the two keys.
double uniform(std::uint64_t key, std::uint64_t index, double a) {
  return a * (2.0 * base::uniform_of(base::chain({key, index})) - 1.0);
}

/// The table of the reference's results: step, last word, and the logits of the next one.
double table_logit(std::uint64_t step, WordId last, std::size_t word) {
  const double logit = uniform(500 + last, word, 3.0);
  if (word == gnmt::kEnd) return logit + static_cast<double>(step) - 2.0;
  return word == gnmt::kPad || word == gnmt::kBegin ? logit - 10.0 : logit;
}

void fill_attention(std::uint64_t key, std::span<float> attention) {
  double sum = 0.0;
  for (std::size_t j = 0; j < kPositions; ++j) sum += std::exp(uniform(key, j, 2.0));
  for (std::size_t j = 0; j < kPositions; ++j) {
    attention[j] = static_cast<float>(std::exp(uniform(key, j, 2.0)) / sum);
  }
}

/// The decoder of one sentence that follows the table.
gnmt::Decoder table_decoder() {
  return [step = std::uint64_t{0}](const DecoderStep& asked) mutable {
    for (std::size_t row = 0; row < asked.words.size(); ++row) {
      const WordId last = asked.words[row];
      for (std::size_t word = 0; word < kVocabulary; ++word) {
        asked.logits[row * kVocabulary + word] = static_cast<float>(table_logit(step, last, word));
      }
      fill_attention(700 + 10 * step + last, asked.attention.subspan(row * kPositions, kPositions));
    }
    ++step;
  };
}

Translation table_translation(std::int64_t beams, Coverage coverage) {
  BeamSearchOptions options;
  options.beams = beams;
  options.coverage = coverage;
  return gnmt::beam_search(options, 1, kPositions, kVocabulary, table_decoder()).front();
}

void expect_scores(const Translation& translation, const std::vector<double>& expected) {
  for (std::size_t b = 0; b < expected.size(); ++b) {
    EXPECT_NEAR(translation.beams[b].score, expected[b], kFloatRounding) << "beam " << b;
  }
}

TEST(BeamSearch, GivesTheReferencesScores) {
  const Translation two = table_translation(2, Coverage::kOfSlots);
  expect_scores(two, {-1.407497436, -1.646988712});
  expect_scores(table_translation(3, Coverage::kOfSlots),
                {-1.407497436, -1.646988712, -1.631808569});
  const Translation five = table_translation(5, Coverage::kOfSlots);
  expect_scores(five, {-1.407497436, -1.646988712, -1.631808569, -2.751670976, -2.342500478});
  for (const Translation& one : {two, five}) {
    EXPECT_TRUE(one.is_complete);
    EXPECT_EQ(one.best, 0u);
    EXPECT_THAT(one.beams[0].words, ElementsAre(4, 5, 5, 3));
  }
  const std::vector<double> attention = {1.203832, 0.4422302, 0.8324454, 1.521492};
  for (std::size_t j = 0; j < kPositions; ++j) {
    EXPECT_NEAR(two.beams[0].attention[j], attention[j], kFloatRounding);
  }
}

TEST(BeamSearch, MayLetAttentionFollowTheBeams) {
  expect_scores(table_translation(2, Coverage::kOfBeams), {-1.407497436, -1.691609392});
  const Translation three = table_translation(3, Coverage::kOfBeams);
  EXPECT_NEAR(three.beams[2].score, -1.634931744, kFloatRounding);
  const Translation five = table_translation(5, Coverage::kOfBeams);
  EXPECT_NEAR(five.beams[3].score, -3.047243138, kFloatRounding);
  EXPECT_NEAR(five.beams[4].score, -2.406475164, kFloatRounding);
}

/// A step's logits after everything that was said before, which only a decoder that follows the
/// beams' parents can know. Sentences differ in how soon they end.
double history_logit(std::int64_t sentence, const std::vector<WordId>& history, std::size_t word) {
  std::uint64_t key = 900 + static_cast<std::uint64_t>(sentence);
  for (const WordId said : history) key = base::chain({said + 1U}, key);
  const double hurry = word == gnmt::kEnd ? 0.5 * static_cast<double>(sentence) : 0.0;
  return static_cast<double>(static_cast<float>(uniform(key, word, 2.0) + hurry));
}

gnmt::Decoder history_decoder() {
  return [histories = std::vector<std::vector<WordId>>()](const DecoderStep& asked) mutable {
    const std::size_t beams = asked.words.size() / asked.sentences.size();
    std::vector<std::vector<WordId>> next;
    for (std::size_t row = 0; row < asked.words.size(); ++row) {
      const auto parent = static_cast<std::size_t>(asked.parents[row]);
      next.push_back(histories.empty() ? std::vector<WordId>() : histories.at(parent));
      next.back().push_back(asked.words[row]);
      for (std::size_t word = 0; word < kVocabulary; ++word) {
        asked.logits[row * kVocabulary + word] =
            static_cast<float>(history_logit(asked.sentences[row / beams], next.back(), word));
      }
      fill_attention(asked.words[row], asked.attention.subspan(row * kPositions, kPositions));
    }
    histories = std::move(next);
  };
}

struct Path {
  std::vector<WordId> words = {gnmt::kBegin};
  double score = 0.0;
  bool has_ended() const { return words.back() == gnmt::kEnd; }
};

/// The paths of `beams` beams after `steps` steps or when all have ended, without batches.
std::vector<Path> twin(std::int64_t sentence, std::size_t beams, std::int64_t steps) {
  std::vector<Path> paths = {{}};
  const auto ended = [](const Path& path) { return path.has_ended(); };
  for (; steps > 0 && !std::all_of(paths.begin(), paths.end(), ended); --steps) {
    std::vector<Path> next;
    for (const Path& path : paths) {
      if (path.has_ended()) {
        next.push_back(path);
        continue;
      }
      double sum = 0.0;
      for (std::size_t w = 0; w < kVocabulary; ++w) {
        sum += std::exp(history_logit(sentence, path.words, w));
      }
      for (std::size_t w = 0; w < kVocabulary; ++w) {
        next.push_back(path);
        next.back().words.push_back(static_cast<WordId>(w));
        next.back().score += history_logit(sentence, path.words, w) - std::log(sum);
      }
    }
    std::sort(next.begin(), next.end(),
              [](const Path& a, const Path& b) { return a.score > b.score; });
    next.resize(std::min(next.size(), beams));
    paths = next;
  }
  return paths;
}

TEST(BeamSearch, FollowsParentsInABatchOfSentencesThatEndAtDifferentTimes) {
  constexpr std::int64_t kSentences = 6;
  BeamSearchOptions options;
  options.beams = 3;
  options.max_length = 12;
  options.coverage_weight = 0.0;
  options.length_exponent = 0.0;
  const auto translations =
      gnmt::beam_search(options, kSentences, kPositions, kVocabulary, history_decoder());
  int complete = 0;
  for (std::int64_t s = 0; s < kSentences; ++s) {
    const Translation& found = translations[static_cast<std::size_t>(s)];
    complete += found.is_complete ? 1 : 0;
    const std::vector<Path> paths = twin(s, 3, options.max_length - 1);
    for (std::size_t b = 0; b < paths.size(); ++b) {
      std::vector<WordId> words = {gnmt::kBegin};
      words.insert(words.end(), found.beams[b].words.begin(), found.beams[b].words.end());
      EXPECT_EQ(words, paths[b].words) << "sentence " << s << ", beam " << b;
      EXPECT_NEAR(found.beams[b].score, paths[b].score, 1e-5);
    }
  }
  EXPECT_GT(complete, 0);
  EXPECT_LT(complete, kSentences);
}

TEST(BeamSearch, KeepsPlainSumsOfSentencesThatReachTheLimit) {
  BeamSearchOptions options;
  options.beams = 2;
  options.max_length = 3;
  const Translation cut =
      gnmt::beam_search(options, 1, kPositions, kVocabulary, table_decoder()).front();
  EXPECT_FALSE(cut.is_complete);
  ASSERT_THAT(cut.beams[0].words, testing::SizeIs(2));
  double sum = 0.0;
  WordId last = gnmt::kBegin;
  for (std::uint64_t step = 0; step < 2; ++step) {
    double total = 0.0;
    for (std::size_t w = 0; w < kVocabulary; ++w) total += std::exp(table_logit(step, last, w));
    const WordId next = cut.beams[0].words[step];
    sum += table_logit(step, last, next) - std::log(total);
    last = next;
  }
  EXPECT_NEAR(cut.beams[0].score, sum, kFloatRounding);
}

/// The reference looks for ended sentences at the start of a step, and there is none behind the
/// last.
TEST(BeamSearch, DoesNotNormalizeASentenceThatEndsInTheLastStep) {
  const gnmt::Decoder ends_at_once = [](const DecoderStep& asked) {
    std::fill(asked.logits.begin(), asked.logits.end(), 0.0F);
    for (std::size_t i = gnmt::kEnd; i < asked.logits.size(); i += kVocabulary) {
      asked.logits[i] = 1.0F;
    }
    std::fill(asked.attention.begin(), asked.attention.end(), 0.25F);
  };
  BeamSearchOptions options;
  options.beams = 1;
  const double plain = 1.0 - std::log(5.0 + std::exp(1.0));
  const auto score = [&](std::int64_t max_length) {
    options.max_length = max_length;
    return gnmt::beam_search(options, 1, kPositions, kVocabulary, ends_at_once)[0].beams[0].score;
  };
  EXPECT_NEAR(score(2), plain, kFloatRounding);
  EXPECT_NEAR(score(3), plain / std::pow(7.0 / 6.0, 0.6) + 0.1 * 4 * std::log(0.25),
              kFloatRounding);
}

TEST(BeamSearch, EndsBeamsWhoseLogitsAreNoNumbers) {
  const gnmt::Decoder diverged = [](const DecoderStep& asked) {
    std::fill(asked.logits.begin(), asked.logits.end(), std::numeric_limits<float>::quiet_NaN());
    std::fill(asked.attention.begin(), asked.attention.end(), 0.0F);
  };
  const Translation found = gnmt::beam_search({}, 1, kPositions, kVocabulary, diverged).front();
  EXPECT_TRUE(found.is_complete);
  EXPECT_THAT(found.beams[found.best].words, ElementsAre(gnmt::kEnd));
  EXPECT_EQ(found.beams[0].score, -std::numeric_limits<double>::infinity());
}

TEST(BeamSearch, RefusesOptionsThatCannotBe) {
  const auto refusal = [](const BeamSearchOptions& options) {
    return base::thrown_message<base::ConfigError>(
        [&] { gnmt::beam_search(options, 1, kPositions, kVocabulary, table_decoder()); });
  };
  EXPECT_THAT(refusal({.beams = 7}), testing::HasSubstr("beams must be 1 to 6"));
  EXPECT_THAT(refusal({.beams = 0}), testing::HasSubstr("got 0"));
  EXPECT_THAT(refusal({.max_length = 1}), testing::HasSubstr("max_length must be at least 2"));
}

}  // namespace

// Corpus BLEU.
#include "workloads/gnmt/bleu.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace gnmt {
namespace {

using NgramCounts = std::unordered_map<std::string, std::int64_t>;

/// How often each n-gram of `order` words occurs. Words have no blanks, so joined ones stay apart.
NgramCounts ngrams_of(std::span<const std::string> words, std::size_t order) {
  NgramCounts counts;
  for (std::size_t first = 0; first + order <= words.size(); ++first) {
    std::string ngram = words[first];
    for (std::size_t i = 1; i < order; ++i) ngram += ' ' + words[first + i];
    ++counts[ngram];
  }
  return counts;
}

std::int64_t in_common(const NgramCounts& hypothesis, const NgramCounts& reference) {
  std::int64_t sum = 0;
  for (const auto& [ngram, count] : hypothesis) {
    const auto found = reference.find(ngram);
    if (found != reference.end()) sum += std::min(count, found->second);
  }
  return sum;
}

double brevity_penalty_of(const BleuCounts& counts) {
  if (counts.hypothesis_words >= counts.reference_words) return 1.0;
  if (counts.hypothesis_words == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(counts.reference_words) /
                            static_cast<double>(counts.hypothesis_words));
}

std::array<double, kBleuOrder> precisions_of(const BleuCounts& counts, Smoothing smoothing) {
  std::array<double, kBleuOrder> precisions{};
  double divisor = 1.0;
  for (std::size_t n = 0; n < kBleuOrder && counts.total[n] > 0; ++n) {
    auto correct = static_cast<double>(counts.correct[n]);
    if (counts.correct[n] == 0 && smoothing == Smoothing::kExp) {
      divisor *= 2.0;
      correct = 1.0 / divisor;
    }
    precisions[n] = 100.0 * correct / static_cast<double>(counts.total[n]);
  }
  return precisions;
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  hypothesis_words += other.hypothesis_words;
  reference_words += other.reference_words;
  return *this;
}

BleuCounts count_sentence(std::span<const std::string> hypothesis,
                          std::span<const std::string> reference) {
  BleuCounts counts;
  counts.hypothesis_words = static_cast<std::int64_t>(hypothesis.size());
  counts.reference_words = static_cast<std::int64_t>(reference.size());
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    counts.total[n] =
        std::max<std::int64_t>(0, counts.hypothesis_words - static_cast<std::int64_t>(n));
    counts.correct[n] = in_common(ngrams_of(hypothesis, n + 1), ngrams_of(reference, n + 1));
  }
  return counts;
}

Bleu bleu_of(const BleuCounts& counts, Smoothing smoothing) {
  Bleu bleu;
  bleu.counts = counts;
  bleu.precisions = precisions_of(counts, smoothing);
  bleu.brevity_penalty = brevity_penalty_of(counts);
  double log_sum = 0.0;
  for (const double precision : bleu.precisions) log_sum += std::log(precision);  // of 0: -infinity
  bleu.score = bleu.brevity_penalty * std::exp(log_sum / static_cast<double>(kBleuOrder));
  return bleu;
}

}  // namespace gnmt

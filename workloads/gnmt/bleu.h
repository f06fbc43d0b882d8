// Corpus BLEU, as the rules of MLPerf's `gnmt` score translations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gnmt {

/// Words of the longest n-grams that are compared.
inline constexpr std::size_t kBleuOrder = 4;

/// What BLEU needs to know of any number of sentences. Counts of different sentences add up, those
/// of different ranks too.
struct BleuCounts {
  std::array<std::int64_t, kBleuOrder> correct{};  ///< n-grams of 1, 2, .. words that a reference
                                                   ///< has, each as often as there at most
  std::array<std::int64_t, kBleuOrder> total{};    ///< n-grams of the hypotheses
  std::int64_t hypothesis_words = 0;
  std::int64_t reference_words = 0;

  BleuCounts& operator+=(const BleuCounts& other);
  bool operator==(const BleuCounts&) const = default;
};

/// The counts of one sentence with one reference, given as words without white space.
BleuCounts count_sentence(std::span<const std::string> hypothesis,
                          std::span<const std::string> reference);

enum class Smoothing {
  kNone,
  kExp  ///< the n-th order without a correct n-gram counts as 1 / 2^n of one
};

struct Bleu {
  double score = 0.0;                           ///< in percent
  std::array<double, kBleuOrder> precisions{};  ///< in percent, smoothed
  double brevity_penalty = 0.0;
  BleuCounts counts;
};

/// BLEU of a corpus, 0 if its hypotheses have no n-gram of the full order.
/// Source: Papineni et al., "BLEU: a method for automatic evaluation of machine translation", ACL
/// 2002; smoothing and empty orders as in sacreBLEU 1.2.10.
Bleu bleu_of(const BleuCounts& counts, Smoothing smoothing = Smoothing::kExp);

}  // namespace gnmt

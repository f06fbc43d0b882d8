// Finds likely translations, several at a time for each sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "workloads/gnmt/vocabulary.h"

namespace gnmt {

/// Whose attention the coverage of a beam adds up.
enum class Coverage {
  kOfSlots,  ///< that of the beams that had its rank in each step: the reference's, which does not
             ///< reorder its sums
  kOfBeams   ///< its own and its parents', as the paper means it
};

/// The defaults are those of MLPerf's `gnmt`.
struct BeamSearchOptions {
  std::int64_t beams = 5;         ///< of each sentence; at most the vocabulary's size
  std::int64_t max_length = 150;  ///< words of a translation, `<s>` included
  double length_constant = 5.0, length_exponent = 0.6;  ///< of the divisor of a score
  double coverage_weight = 0.1;
  Coverage coverage = Coverage::kOfSlots;
};

/// A step of the decoder for all beams of the sentences in progress. A row is a beam; those of a
/// sentence follow each other.
struct DecoderStep {
  std::span<const std::int64_t> sentences;  ///< [rows / beams], their numbers
  std::span<const std::int64_t> parents;    ///< [rows], the row of the last step that each one
                                            ///< continues; in the first step the row itself
  std::span<const WordId> words;            ///< [rows], the last word of each, at first `<s>`
  std::span<float> logits;                  ///< [rows, vocabulary], to be filled in
  std::span<float> attention;  ///< [rows, positions], to be filled in; 0 behind a source's end
};
using Decoder = std::function<void(const DecoderStep&)>;

struct Beam {
  std::vector<WordId> words;      ///< behind `<s>`, with `<\s>`
  double score = 0.0;             ///< higher is better
  std::vector<double> attention;  ///< [positions], the sums of its coverage
};

struct Translation {
  std::vector<Beam> beams;  ///< in the order of the sums of their logarithms
  std::size_t best = 0;     ///< the first one of the best score
  bool is_complete = false;
};

/// Translates `sentences` sentences of at most `positions` words with <s> and <\s>. A beam's score
/// is the sum of its words' log-probabilities; when all beams of a sentence have ended, it is
/// divided by ((c + length) / (c + 1))^exponent, with length = words + 1, and the weighted sum over
/// source positions of log(min(attention, 1)) is added, 0 for one without attention. A sentence
/// that reaches max_length before that keeps its plain sums. Of equal candidates the earlier beam's
/// is taken, then the word of the smaller number. A beam whose logits are not numbers ends there,
/// with a score of -infinity.
///
/// Throws ConfigError for options that cannot be.
/// Source: Wu et al., arXiv:1609.08144, equation 14; mlcommons/training, gnmt,
/// seq2seq/inference/beam_search.py.
std::vector<Translation> beam_search(const BeamSearchOptions& options, std::int64_t sentences,
                                     std::int64_t positions, std::int64_t vocabulary,
                                     const Decoder& decoder);

}  // namespace gnmt

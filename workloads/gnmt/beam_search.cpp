// Finds likely translations, several at a time for each sentence.
#include "workloads/gnmt/beam_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runner/base/error.h"

namespace gnmt {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// A word behind a beam, and its log-probability or, with the beam's, its score.
struct Candidate {
  WordId word = kEnd;
  double score = kImpossible;
};

/// The `count` most probable words, the best first, of equal ones that of the smaller number.
void best_words(std::span<const float> logits, std::span<Candidate> best) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double log_sum = static_cast<double>(largest) + std::log(sum);
  std::fill(best.begin(), best.end(), Candidate{});
  if (!std::isfinite(log_sum)) return;
  std::size_t found = 0;
  for (std::size_t word = 0; word < logits.size(); ++word) {
    const double score = static_cast<double>(logits[word]) - log_sum;
    if (found == best.size() && score <= best.back().score) continue;
    std::size_t place = found < best.size() ? found++ : found - 1;
    for (; place > 0 && best[place - 1].score < score; --place) best[place] = best[place - 1];
    best[place] = {static_cast<WordId>(word), score};
  }
}

bool has_ended(const Beam& beam) { return !beam.words.empty() && beam.words.back() == kEnd; }

class Search {
 public:
  Search(const BeamSearchOptions& options, std::int64_t sentences, std::int64_t positions,
         std::int64_t vocabulary, const Decoder& decoder)
      : options_(options),
        beams_(static_cast<std::size_t>(options.beams)),
        positions_(static_cast<std::size_t>(positions)),
        vocabulary_(static_cast<std::size_t>(vocabulary)),
        decoder_(decoder),
        translations_(static_cast<std::size_t>(sentences)),
        in_progress_(translations_.size()),
        parents_(translations_.size() * beams_),
        words_(parents_.size(), kBegin),
        logits_(parents_.size() * vocabulary_),
        attention_(parents_.size() * positions_),
        candidates_(parents_.size() * beams_) {
    for (Translation& one : translations_) {
      one.beams.resize(beams_);
      for (Beam& beam : one.beams) beam.attention.resize(positions_);
    }
    std::iota(in_progress_.begin(), in_progress_.end(), 0);
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  std::vector<Translation> run() {
    for (step_ = 1; step_ < options_.max_length && !in_progress_.empty(); ++step_) {
      decoder_({in_progress_, parents_, words_, std::span(logits_).first(rows() * vocabulary_),
                std::span(attention_).first(rows() * positions_)});
      find_candidates();
      extend_all();
    }
    for (Translation& one : translations_) choose_best(one);
    return std::move(translations_);
  }

 private:
  std::size_t rows() const { return words_.size(); }
  Translation& in_progress(std::size_t place) {
    return translations_[static_cast<std::size_t>(in_progress_[place])];
  }

  /// Of each row, `beams` of them.
  void find_candidates() {
    const auto count = static_cast<std::int64_t>(rows());
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::size_t>(i);
      best_words(std::span(logits_).subspan(row * vocabulary_, vocabulary_), of_row(row));
    }
  }
  std::span<Candidate> of_row(std::size_t row) {
    return std::span(candidates_).subspan(row * beams_, beams_);
  }

  /// Extends the beams of all sentences. Those that are complete leave the batch, unless the limit
  /// is reached: the reference looks for complete sentences before each step.
  void extend_all() {
    std::vector<std::int64_t> remaining, parents;
    std::vector<WordId> words;
    for (std::size_t place = 0; place < in_progress_.size(); ++place) {
      Translation& translation = in_progress(place);
      const std::vector<std::size_t> chosen = extend(translation, place * beams_);
      const bool has_time = step_ + 1 < options_.max_length;
      if (has_time && std::all_of(translation.beams.begin(), translation.beams.end(), has_ended)) {
        complete(translation);
        continue;
      }
      remaining.push_back(in_progress_[place]);
      for (std::size_t b = 0; b < beams_; ++b) {
        parents.push_back(static_cast<std::int64_t>(place * beams_ + chosen[b]));
        words.push_back(translation.beams[b].words.back());
      }
    }
    in_progress_ = std::move(remaining);
    parents_ = std::move(parents);
    words_ = std::move(words);
  }

  /// Replaces the beams of a sentence by the best continuations; returns the beam that each one
  /// continues.
  std::vector<std::size_t> extend(Translation& translation, std::size_t first_row) {
    std::vector<Beam>& beams = translation.beams;
    for (std::size_t b = 0; b < beams_; ++b) score_candidates(beams[b], b, first_row + b);
    const std::span<const Candidate> all =
        std::span<const Candidate>(candidates_).subspan(first_row * beams_, beams_ * beams_);
    std::vector<std::size_t> best(all.size()), chosen;
    std::iota(best.begin(), best.end(), std::size_t{0});
    std::stable_sort(best.begin(), best.end(),
                     [&](std::size_t a, std::size_t b) { return all[a].score > all[b].score; });
    std::vector<Beam> extended;
    for (std::size_t rank = 0; rank < beams_; ++rank) {
      chosen.push_back(best[rank] / beams_);
      const Beam& parent = beams[chosen.back()];
      extended.push_back(parent);
      if (!has_ended(parent)) extended.back().words.push_back(all[best[rank]].word);
      extended.back().score = all[best[rank]].score;
      if (options_.coverage == Coverage::kOfSlots) {
        extended.back().attention = beams[rank].attention;
      }
    }
    beams = std::move(extended);
    return chosen;
  }

  /// Adds the beam's score to its row's candidates, and the row's attention to its sums.
  void score_candidates(Beam& beam, std::size_t rank, std::size_t row) {
    const std::span<Candidate> candidates = of_row(row);
    if (has_ended(beam)) {
      std::fill(candidates.begin(), candidates.end(), Candidate{});
      candidates[0].score = 0.0;
    } else {
      for (std::size_t j = 0; j < positions_; ++j) {
        beam.attention[j] += static_cast<double>(attention_[row * positions_ + j]);
      }
    }
    // All beams are the same in the first step.
    const bool counts = step_ > 1 || rank == 0;
    for (Candidate& one : candidates) one.score = counts ? one.score + beam.score : kImpossible;
  }

  /// Normalizes the scores of a sentence whose beams have ended.
  void complete(Translation& translation) const {
    translation.is_complete = true;
    for (Beam& beam : translation.beams) {
      const double length = static_cast<double>(beam.words.size()) + 1.0;
      beam.score /= std::pow((options_.length_constant + length) / (options_.length_constant + 1.0),
                             options_.length_exponent);
      double coverage = 0.0;
      for (const double sum : beam.attention) {
        if (sum > 0.0) coverage += std::log(std::min(sum, 1.0));
      }
      beam.score += options_.coverage_weight * coverage;
    }
  }

  static void choose_best(Translation& translation) {
    const std::vector<Beam>& beams = translation.beams;
    const auto best = std::max_element(
        beams.begin(), beams.end(), [](const Beam& a, const Beam& b) { return a.score < b.score; });
    translation.best = static_cast<std::size_t>(best - beams.begin());
  }

  const BeamSearchOptions& options_;
  const std::size_t beams_, positions_, vocabulary_;
  const Decoder& decoder_;
  std::int64_t step_ = 0;
  std::vector<Translation> translations_;
  std::vector<std::int64_t> in_progress_;  ///< numbers of sentences
  std::vector<std::int64_t> parents_;      ///< of each row
  std::vector<WordId> words_;              ///< of each row, the last one
  std::vector<float> logits_, attention_;
  std::vector<Candidate> candidates_;  ///< [rows, beams]
};

void require_options(const BeamSearchOptions& options, std::int64_t vocabulary) {
  if (options.beams < 1 || options.beams > vocabulary) {
    throw base::ConfigError(
        fmt::format("beam search: beams must be 1 to {}, the vocabulary's "
                    "size, got {}",
                    vocabulary, options.beams));
  }
  if (options.max_length < 2) {
    throw base::ConfigError(
        fmt::format("beam search: max_length must be at least 2, got {}", options.max_length));
  }
}

}  // namespace

std::vector<Translation> beam_search(const BeamSearchOptions& options, std::int64_t sentences,
                                     std::int64_t positions, std::int64_t vocabulary,
                                     const Decoder& decoder) {
  require_options(options, vocabulary);
  return Search(options, sentences, positions, vocabulary, decoder).run();
}

}  // namespace gnmt

// ROC AUC: sort on every rank, exchange so that each rank has an equal range of scores, count pairs
// in integers.
#include "workloads/parallel/roc_auc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "workloads/parallel/key_ranges.h"
#include "workloads/parallel/radix_sort.h"

namespace parallel {
namespace {

using Key = std::uint32_t;
/// Twice a number of pairs. Does not overflow for any number of samples that fits an int64.
__extension__ using Pairs = unsigned __int128;

/// Keys are ordered as scores are; 0 and -0 have the same key.
Key key_of(float score) {
  constexpr Key kSign = Key{1} << 31U;
  const Key bits = std::bit_cast<Key>(score);
  if (bits == kSign) return kSign;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

enum Class { kNegative, kPositive, kNotANumber, kNoSample, kWrongLabel };
constexpr std::size_t kClasses = 5;

Class class_of(float score, float label) {
  if (label == -1.0F) return kNoSample;
  if (label != 0.0F && label != 1.0F) return kWrongLabel;
  if (std::isnan(score)) return kNotANumber;
  return label == 0.0F ? kNegative : kPositive;
}

/// The keys of a rank's samples, by class.
struct SampleKeys {
  std::array<std::vector<Key>, 2> keys;  ///< of negatives and positives
  std::int64_t nan_scores = 0;
};

using ClassCounts = std::array<std::size_t, kClasses>;

void require_labels(const ClassCounts& counts, std::span<const float> labels) {
  if (counts[kWrongLabel] == 0) return;
  const auto wrong = std::find_if(labels.begin(), labels.end(),
                                  [](float label) { return class_of(0.0F, label) == kWrongLabel; });
  throw base::DataError(fmt::format("ROC AUC: label of sample {}: expected 0, 1 or -1, got {}",
                                    wrong - labels.begin(), *wrong));
}

SampleKeys classify(std::span<const float> scores, std::span<const float> labels) {
  const Chunks chunks(labels.size());
  std::vector<ClassCounts> places(chunks.count);
#pragma omp parallel for schedule(static, 1)
  for (std::size_t chunk = 0; chunk < chunks.count; ++chunk) {
    ClassCounts counts{};
    const std::size_t end = chunks.begin(chunk + 1);
    for (std::size_t i = chunks.begin(chunk); i < end; ++i) {
      ++counts[class_of(scores[i], labels[i])];
    }
    places[chunk] = counts;
  }
  ClassCounts totals{};
  for (ClassCounts& counts : places) {
    for (std::size_t c = 0; c < kClasses; ++c) totals[c] += std::exchange(counts[c], totals[c]);
  }
  require_labels(totals, labels);

  SampleKeys samples;
  samples.nan_scores = static_cast<std::int64_t>(totals[kNotANumber]);
  for (const Class c : {kNegative, kPositive}) samples.keys[c].resize(totals[c]);
#pragma omp parallel for schedule(static, 1)
  for (std::size_t chunk = 0; chunk < chunks.count; ++chunk) {
    ClassCounts place = places[chunk];
    const std::size_t end = chunks.begin(chunk + 1);
    for (std::size_t i = chunks.begin(chunk); i < end; ++i) {
      const Class c = class_of(scores[i], labels[i]);
      if (c <= kPositive) samples.keys[c][place[c]++] = key_of(scores[i]);
    }
  }
  return samples;
}

/// Numbers of samples with one score on one rank.
struct Tie {
  Key key;
  std::uint32_t negatives, positives;
};

/// Calls use(tie) for every distinct score in ascending order. `keys` are sorted.
template <class Use>
void for_each_tie(const std::array<std::vector<Key>, 2>& keys, Use use) {
  std::array<std::size_t, 2> at{};
  const auto take = [&](Class c, Key key) {
    const std::size_t first = at[c];
    while (at[c] < keys[c].size() && keys[c][at[c]] == key) ++at[c];
    return static_cast<std::uint32_t>(at[c] - first);
  };
  const auto has = [&](Class c) { return at[c] < keys[c].size(); };
  while (has(kNegative) || has(kPositive)) {
    Key key = std::numeric_limits<Key>::max();
    for (const Class c : {kNegative, kPositive}) {
      if (has(c)) key = std::min(key, keys[c][at[c]]);
    }
    const std::uint32_t negatives = take(kNegative, key);
    use(Tie{key, negatives, take(kPositive, key)});
  }
}

/// Counts pairs of a positive and a negative sample. Samples are added in ascending order of score.
struct PairCount {
  std::int64_t negatives = 0, positives = 0;
  Pairs twice_won = 0;  ///< 2 x pairs whose positive scores higher + pairs of equal scores

  void add(std::int64_t equal_negatives, std::int64_t equal_positives) {
    twice_won +=
        static_cast<Pairs>(equal_positives) * static_cast<Pairs>(2 * negatives + equal_negatives);
    negatives += equal_negatives;
    positives += equal_positives;
  }
  /// Adds a count over samples whose scores are all higher than this one's.
  void add(const PairCount& higher) {
    twice_won +=
        higher.twice_won + static_cast<Pairs>(higher.positives) * static_cast<Pairs>(2 * negatives);
    negatives += higher.negatives;
    positives += higher.positives;
  }
};

std::vector<std::int64_t> times(std::span<const std::int64_t> counts, std::size_t bytes) {
  std::vector<std::int64_t> all(counts.begin(), counts.end());
  for (std::int64_t& one : all) one *= static_cast<std::int64_t>(bytes);
  return all;
}

/// Collective. Sends counts[r] consecutive items to each rank r; returns the items that this rank
/// receives in rank order, incoming[r] of them from rank r.
template <class T>
std::vector<T> exchange(std::span<const T> items, std::span<const std::int64_t> counts,
                        std::span<const std::int64_t> incoming, const runner::Communicator& ranks) {
  std::vector<T> received(
      static_cast<std::size_t>(std::accumulate(incoming.begin(), incoming.end(), std::int64_t{0})));
  ranks
      .start_alltoall(std::as_bytes(items), runner::consecutive_parts(times(counts, sizeof(T))),
                      std::as_writable_bytes(std::span(received)),
                      runner::consecutive_parts(times(incoming, sizeof(T))))
      .wait();
  return received;
}

/// As above, but exchanges the counts first.
std::vector<Tie> exchange(const std::vector<Tie>& ties, std::span<const std::int64_t> counts,
                          const runner::Communicator& ranks) {
  const std::vector<std::int64_t> one_each(counts.size(), 1);
  const auto incoming = exchange<std::int64_t>(counts, one_each, one_each, ranks);
  return exchange<Tie>(ties, counts, incoming, ranks);
}

/// Collective. The pairs among the samples of all ranks within this rank's range of scores. The
/// ranges ascend with the rank and together cover all scores.
PairCount count_range(SampleKeys samples, const runner::Communicator& ranks) {
  PairCount count;
  if (ranks.size() == 1) {
    for_each_tie(samples.keys, [&](const Tie& tie) { count.add(tie.negatives, tie.positives); });
    return count;
  }
  std::vector<Tie> ties;
  ties.reserve(samples.keys[kNegative].size() + samples.keys[kPositive].size());
  for_each_tie(samples.keys, [&](const Tie& tie) { ties.push_back(tie); });
  samples = {};
  const auto below = [&](std::uint64_t bound) {
    const auto place =
        std::lower_bound(ties.begin(), ties.end(), bound,
                         [](const Tie& tie, std::uint64_t b) { return tie.key < b; });
    return std::int64_t{place - ties.begin()};
  };
  const auto counts = even_key_ranges(below, static_cast<std::int64_t>(ties.size()), ranks);
  ties = exchange(ties, counts, ranks);
  radix_sort(ties, [](const Tie& tie) { return tie.key; });
  for (std::size_t i = 0; i < ties.size();) {
    const Key key = ties[i].key;
    std::int64_t negatives = 0, positives = 0;
    for (; i < ties.size() && ties[i].key == key; ++i) {
      negatives += ties[i].negatives;
      positives += ties[i].positives;
    }
    count.add(negatives, positives);
  }
  return count;
}

/// Collective. Merges the counts of all ranks' ranges.
PairCount join(const PairCount& mine, const runner::Communicator& ranks) {
  // A 128-bit number is sent as four 32-bit pieces.
  constexpr std::size_t kNumbers = 6, kPieces = 4;
  constexpr unsigned kPieceBits = 32;
  std::array<std::int64_t, kNumbers> own = {mine.negatives, mine.positives};
  for (unsigned p = 0; p < kPieces; ++p) {
    own[2 + p] =
        static_cast<std::int64_t>(static_cast<std::uint32_t>(mine.twice_won >> (kPieceBits * p)));
  }
  const std::vector<std::int64_t> all = ranks.allgather(own);
  PairCount sum;
  for (std::size_t at = 0; at < all.size(); at += kNumbers) {
    PairCount next{all[at], all[at + 1]};
    for (unsigned p = 0; p < kPieces; ++p) {
      next.twice_won |= static_cast<Pairs>(all[at + 2 + p]) << (kPieceBits * p);
    }
    sum.add(next);
  }
  return sum;
}

}  // namespace

std::int64_t roc_auc_bytes(std::int64_t samples, int ranks) {
  // Two arrays of ties: sent and received, then sorted and scratch.
  return samples * 2 * std::int64_t{sizeof(Tie)} + ranks * kKeyRangeBytes;
}

RocAuc roc_auc(std::span<const float> scores, std::span<const float> labels,
               const runner::Communicator& ranks) {
  if (scores.size() != labels.size()) {
    throw base::ShapeError(
        fmt::format("ROC AUC: {} scores for {} labels", scores.size(), labels.size()));
  }
  (void)base::narrow<std::uint32_t>(labels.size());  // Tie has 32-bit counts
  SampleKeys samples = classify(scores, labels);
  std::array<std::int64_t, 3> totals = {static_cast<std::int64_t>(samples.keys[kNegative].size()),
                                        static_cast<std::int64_t>(samples.keys[kPositive].size()),
                                        samples.nan_scores};
  ranks.allreduce_sum(std::span<std::int64_t>(totals));
  RocAuc result;
  result.negatives = totals[0];
  result.positives = totals[1];
  result.nan_scores = totals[2];
  if (result.nan_scores > 0 || result.negatives == 0 || result.positives == 0) {
    result.area = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  for (auto& keys : samples.keys) radix_sort(keys, [](Key key) { return key; });
  const PairCount count = join(count_range(std::move(samples), ranks), ranks);
  const Pairs twice_pairs =
      2 * static_cast<Pairs>(count.negatives) * static_cast<Pairs>(count.positives);
  result.area = static_cast<double>(count.twice_won) / static_cast<double>(twice_pairs);
  return result;
}

}  // namespace parallel

// A batch norm's activations as columns of channels, and the nodes that receive their sums.
// Hides how threads share columns, pieces of them, and channels of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/layers/batch_norm_factors.h"
#include "workloads/nn/layers/group_reduction.h"

namespace nn {

/// A block of channels of a sample, or of a piece of its rows.
struct NormColumn {
  std::int64_t sample = 0, block = 0, piece = 0;
  std::int64_t offset = 0;  ///< in activations of a whole pass, in elements
  std::size_t at = 0;       ///< index of its first channel in per-group arrays
};

class NormColumns {
 public:
  /// `padded`: channels of a node. `factors` outlives this.
  NormColumns(const ChannelLayout& layout, std::int64_t padded, const BatchNormFactors& factors)
      : layout_(layout), padded_(padded), factors_(factors) {}
  /// Training only. `groups` and `exchange` as in GroupReduction.
  void bind(const BatchGroups& groups, StatisticsExchange* exchange) {
    groups_ = &groups;
    std::vector<std::int64_t> piece_rows;
    for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
      piece_rows.push_back(layout_.column(0, piece).rows);
    }
    reduction_.emplace(groups, exchange, padded_, piece_rows);
  }
  /// Bytes that the reduction needs.
  std::int64_t node_bytes(const BatchGroups& groups) const {
    return GroupReduction::bytes(groups, padded_, layout_.pieces);
  }
  GroupReduction& reduction() { return *reduction_; }

  Column column(const NormColumn& where) const { return layout_.column(where.block, where.piece); }
  /// The column's channels in its node: two arrays, padded() doubles apart.
  double* node(const NormColumn& where) const {
    return reduction_->piece_node(where.sample, where.piece) + where.block * layout_.width;
  }
  std::int64_t padded() const { return padded_; }
  /// PassedBits of a sample's signs, and of those before a column's.
  std::int64_t sample_signs() const { return layout_.blocks * layout_.rows * words_of_row(); }
  std::int64_t signs_before(const NormColumn& where) const {
    const std::int64_t rows = (where.sample * layout_.blocks + where.block) * layout_.rows +
                              layout_.first_row(where.piece);
    return rows * words_of_row();
  }

  /// Calls body(column) for every piece of every column of these samples.
  template <class Body>
  void for_each(const Samples& samples, const Body& body) const;
  /// The same; afterwards the nodes of these samples are complete.
  template <class Body>
  void sum(Reduction reduction, const Samples& samples, const Body& body) const;
  /// Calls body(group, block) for each group and block of channels.
  template <class Body>
  void for_each_unit(const Body& body) const;
  /// Calls body(column) for all samples of a group in a block of channels. These columns are whole:
  /// only wide ones are cut into pieces, and layouts with wide ones are not processed by channels.
  template <class Body>
  void for_each_sample(std::size_t group, std::int64_t block, const Body& body) const;
  /// The same, then use(group, first channel, channels), once the group's sums of these channels
  /// are at its root.
  template <class Body, class Use>
  void sum_samples(Reduction reduction, std::size_t group, std::int64_t block, const Body& body,
                   const Use& use) const;
  /// Calls use(group, first channel, channels) for runs of channels that together are all of each
  /// group's, once the group's sums are at its root. Calls `before_exchange` when this rank's sums
  /// are ready.
  template <class BeforeExchange, class Use>
  void reduce(Reduction reduction, const BeforeExchange& before_exchange, const Use& use);

 private:
  NormColumn place(std::int64_t sample, std::int64_t block, std::int64_t piece) const {
    const std::size_t group = factors_.by_group() ? reduction_->group_of(sample) : 0;
    return {sample, block, piece,
            layout_.offset(sample, block) + layout_.first_row(piece) * layout_.row_stride,
            factors_.base(group) + static_cast<std::size_t>(block * layout_.width)};
  }
  /// PassedBits of one row of a full block.
  std::int64_t words_of_row() const {
    constexpr std::int64_t kBits = 16;
    return base::ceil_div(layout_.width, kBits);
  }
  /// Channels of a block, out of `all`.
  std::int64_t channels_of(std::int64_t block, std::int64_t all) const {
    return std::min<std::int64_t>(layout_.width, all - block * layout_.width);
  }
  /// Calls body(i, first channel, channels) for each i below `count` and for runs of channels that
  /// together are all that are summed.
  template <class Body>
  void for_channels_of(std::int64_t count, const Body& body) const;

  const ChannelLayout layout_;
  const std::int64_t padded_;
  const BatchNormFactors& factors_;
  const BatchGroups* groups_ = nullptr;
  std::optional<GroupReduction> reduction_;  ///< training only
};

template <class Body>
void NormColumns::for_each(const Samples& samples, const Body& body) const {
  const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        body(place(sample, block, piece));
      }
    }
  }
}

template <class Body>
void NormColumns::sum(Reduction reduction, const Samples& samples, const Body& body) const {
  for_each(samples, body);
  if (layout_.pieces == 1) return;
  for_channels_of(samples.count, [&](std::int64_t i, std::int64_t first, std::int64_t count) {
    reduction_->join_pieces(reduction, samples.first + i, first, count);
  });
}

template <class Body>
void NormColumns::for_each_unit(const Body& body) const {
  const auto groups = static_cast<std::int64_t>(groups_->groups.size());
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      body(static_cast<std::size_t>(group), block);
    }
  }
}

template <class Body>
void NormColumns::for_each_sample(std::size_t group, std::int64_t block, const Body& body) const {
  const BatchGroup& plan = groups_->groups[group];
  for (std::int64_t i = 0; i < plan.local_count; ++i) {
    body(place(plan.local_first + i, block, 0));
  }
}

template <class Body, class Use>
void NormColumns::sum_samples(Reduction reduction, std::size_t group, std::int64_t block,
                              const Body& body, const Use& use) const {
  const std::int64_t first = block * layout_.width;
  for_each_sample(group, block, body);
  reduction_->reduce_local(reduction, group, first, channels_of(block, padded_));
  use(group, first, channels_of(block, layout_.channels));
}

template <class Body>
void NormColumns::for_channels_of(std::int64_t count, const Body& body) const {
  constexpr std::int64_t kChannels = 64;
  const std::int64_t all = layout_.padded ? padded_ : layout_.channels;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t first = 0; first < all; first += kChannels) {
      body(i, first, std::min(kChannels, all - first));
    }
  }
}

template <class BeforeExchange, class Use>
void NormColumns::reduce(Reduction reduction, const BeforeExchange& before_exchange,
                         const Use& use) {
  const auto groups = static_cast<std::int64_t>(groups_->groups.size());
  for_channels_of(groups, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    reduction_->reduce_local(reduction, static_cast<std::size_t>(group), first, count);
  });
  before_exchange();
  reduction_->reduce_shared(reduction);
  for_channels_of(groups, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    const std::int64_t end = std::min(first + count, layout_.channels);
    if (first < end) use(static_cast<std::size_t>(group), first, end - first);
  });
}

}  // namespace nn

// Sums over pieces of samples, and over groups of samples, against sums over all values at once.
#include "workloads/nn/layers/group_reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace {

constexpr std::int64_t kSamples = 6, kGroupSize = 3, kChannels = 5;
const std::vector<std::int64_t> kPiecePoints = {4, 1, 7};

double value(std::int64_t sample, std::int64_t point, std::int64_t channel) {
  return 100.0 + std::sin(static_cast<double>(sample * 70 + point * 5 + channel));
}

/// The pixels [first, end) of samples [first_sample, end_sample).
struct Range {
  std::int64_t first_sample, end_sample, first, end;
};
/// Writes means and sums of squared distances from them, or sums of values and of their halves.
void take(nn::Reduction reduction, const Range& of, double* node) {
  for (std::int64_t c = 0; c < kChannels; ++c) {
    std::vector<double> values;
    for (std::int64_t sample = of.first_sample; sample < of.end_sample; ++sample) {
      for (std::int64_t i = of.first; i < of.end; ++i) values.push_back(value(sample, i, c));
    }
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    if (reduction == nn::Reduction::kSums) {
      node[c] = sum;
      node[kChannels + c] = sum / 2;
      continue;
    }
    const double mean = sum / static_cast<double>(values.size());
    node[c] = mean;
    node[kChannels + c] = 0.0;
    for (const double one : values) node[kChannels + c] += (one - mean) * (one - mean);
  }
}

void expect_roots(nn::Reduction reduction, const std::vector<std::int64_t>& piece_points) {
  const nn::BatchGroups groups = nn::plan_batch_groups({{kSamples, 0, kSamples}}, 0, kGroupSize);
  const auto pieces = static_cast<std::int64_t>(piece_points.size());
  nn::GroupReduction sums(groups, nullptr, kChannels, piece_points);
  const std::int64_t bytes = nn::GroupReduction::bytes(groups, kChannels, pieces);
  std::vector<double> memory(static_cast<std::size_t>(bytes) / sizeof(double));
  sums.start(memory.data());
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    std::int64_t first = 0;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t end = first + piece_points[static_cast<std::size_t>(piece)];
      take(reduction, {sample, sample + 1, first, end}, sums.piece_node(sample, piece));
      first = end;
    }
  }
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    for (const auto& [first, count] : {std::pair{0, 2}, std::pair{2, 3}}) {
      sums.join_pieces(reduction, sample, first, count);
    }
  }
  const std::int64_t points =
      std::accumulate(piece_points.begin(), piece_points.end(), std::int64_t{0});
  for (std::size_t group = 0; group < 2; ++group) {
    sums.reduce_local(reduction, group, 0, kChannels);
    const std::int64_t first = kGroupSize * static_cast<std::int64_t>(group);
    std::vector<double> expected(2 * kChannels);
    take(reduction, {first, first + kGroupSize, 0, points}, expected.data());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(sums.root(group)[i], expected[i], 1e-10 * expected[i]) << i;
    }
  }
}

TEST(GroupReduction, JoinsPiecesOfSamplesAndSamplesOfGroups) {
  for (const auto reduction : {nn::Reduction::kMoments, nn::Reduction::kSums}) {
    expect_roots(reduction, kPiecePoints);
    expect_roots(reduction, {9});
  }
}

}  // namespace

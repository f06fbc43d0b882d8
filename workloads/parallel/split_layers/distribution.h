// How ranks divide a layer's work: by samples, and within groups of ranks by feature maps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace parallel {

/// Each `group` consecutive ranks have the same samples. If the group splits features, each of its
/// ranks has a part of the channels; otherwise all of them compute the same.
struct Distribution {
  int group = 1;
  bool splits_features = false;
  int data_parts(int ranks) const { return ranks / group; }
  int feature_parts() const { return splits_features ? group : 1; }
  friend bool operator==(const Distribution&, const Distribution&) = default;
};
/// Groups of `group` ranks that split features; of one rank: data parallelism.
constexpr Distribution split_by(int group) { return {group, group > 1}; }
/// "4 x 2": data parts times feature parts; "4 x 1, 2 alike" where 2 ranks compute the same.
std::string to_string(const Distribution& distribution, int ranks);

/// Half-open.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
constexpr Range overlap(const Range& a, const Range& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// The elements of one sample of a value, plain row-major: a channel after the other.
struct FeatureShape {
  std::int64_t channels = 0, points = 1;
  std::int64_t count() const { return channels * points; }
};

/// What a rank has of a value [samples][features].
struct Share {
  Range samples, features;
  std::int64_t count() const { return samples.count() * features.count(); }
  friend bool operator==(const Share&, const Share&) = default;
};

/// The channels that a rank has.
Range channels_of(const Distribution& distribution, int rank, std::int64_t channels);
/// What a rank has of a pass of `samples` samples. Samples, and channels, are split evenly.
Share share_of(const Distribution& distribution, int rank, int ranks, std::int64_t samples,
               const FeatureShape& shape);

}  // namespace parallel

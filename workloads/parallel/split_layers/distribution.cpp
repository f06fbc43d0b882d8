// Even parts of samples and channels.
#include "workloads/parallel/split_layers/distribution.h"

#include <fmt/format.h>

#include "runner/base/split_evenly.h"

namespace parallel {
namespace {

Range evenly(std::int64_t total, std::int64_t parts, std::int64_t part) {
  const auto [begin, end] = base::split_evenly(total, parts, part);
  return {begin, end};
}

}  // namespace

std::string to_string(const Distribution& distribution, int ranks) {
  std::string text =
      fmt::format("{} x {}", distribution.data_parts(ranks), distribution.feature_parts());
  if (distribution.group > 1 && !distribution.splits_features) {
    text += fmt::format(", {} alike", distribution.group);
  }
  return text;
}

Range channels_of(const Distribution& distribution, int rank, std::int64_t channels) {
  const int parts = distribution.feature_parts();
  return evenly(channels, parts, rank % parts);
}

Share share_of(const Distribution& distribution, int rank, int ranks, std::int64_t samples,
               const FeatureShape& shape) {
  const Range channels = channels_of(distribution, rank, shape.channels);
  return {evenly(samples, distribution.data_parts(ranks), rank / distribution.group),
          {channels.begin * shape.points, channels.end * shape.points}};
}

}  // namespace parallel

// What staging would copy to a node, and whether it fits.
#include "staging/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/stop_signals.h"
#include "staging/manifest.h"
#include "staging/own_folder.h"
#include "staging/packed.h"
#include "staging/sample_order.h"
#include "staging/space.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

std::vector<std::int64_t> broadcast(const runner::Communicator& node,
                                    const std::vector<std::int64_t>& values) {
  const std::string bytes = node.broadcast(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])),
      0);
  std::vector<std::int64_t> received(bytes.size() / sizeof(values[0]));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(received.data()));
  return received;
}

/// Size, time and label of each needed sample, three integers a sample, on the node's leader.
std::vector<std::int64_t> stamps_of(const dataset::Dataset& source, const StagingPlan& plan,
                                    const runner::Communicator& world,
                                    const runner::Communicator& node) {
  const auto [first, last] = split_evenly(plan.samples, node.size(), node.rank());
  std::vector<std::int64_t> mine;
  for (const std::int64_t index : plan.indices(first, last)) {
    if (runner::is_told_to_end()) break;
    const auto stamp = source.stamp(index);
    mine.insert(mine.end(), {stamp.bytes, stamp.mtime_ns, source.label(index)});
    node.activity().progress();
  }
  if (world.allreduce_max(std::int64_t{runner::is_told_to_end() ? 1 : 0}) != 0) {
    throw runner::AgreedError(base::ExitCode::kStopped, "staging: stopped by a signal");
  }
  return node.gather(std::span<const std::int64_t>(mine), 0);
}

std::string identity_of(const dataset::Dataset& source, const StagingPlan& plan,
                        const std::vector<std::int64_t>& stamps) {
  std::string text = fs::absolute(source.source()).lexically_normal().string();
  text += fmt::format("\n{}\n", source.size());
  for (const auto& [first, last] : plan.ranges) text += fmt::format("{}-{}\n", first, last);
  for (const std::string& name : source.class_names()) text += name + "\n";
  text += hash_text(stamps.data(), stamps.size() * sizeof(stamps[0]));
  return hash_text(text.data(), text.size());
}

/// Cuts the samples where the running sum of bytes reaches each rank's share.
std::vector<std::int64_t> shares_of(const std::vector<std::int64_t>& stamps, std::int64_t bytes,
                                    std::int64_t samples, int ranks) {
  std::vector<std::int64_t> shares = {0};
  std::int64_t before = 0, sample = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t goal = split_evenly(bytes, ranks, rank).first;
    while (sample < samples && before < goal) {
      before += stamps[static_cast<std::size_t>(3 * sample++)];
    }
    shares.push_back(sample);
  }
  shares.push_back(samples);
  return shares;
}

void check_ranges(const dataset::Dataset& source, const Ranges& ranges) {
  for (const auto& [first, last] : ranges) {
    if (first < 0 || last > source.size()) {
      throw base::ConfigError(fmt::format("{}: samples {} to {} of {} cannot be staged",
                                          source.source(), first, last, source.size()));
    }
  }
}

/// Run by the leader, which then broadcasts the result to the node.
void examine(const dataset::Dataset& source, const std::vector<std::int64_t>& stamps, int ranks,
             const std::string& directory, StagingPlan& plan) {
  plan.bytes = 0;
  for (std::size_t i = 0; i < stamps.size(); i += 3) plan.bytes += stamps[i];
  plan.shares = shares_of(stamps, plan.bytes, plan.samples, ranks);
  plan.identity = identity_of(source, plan, stamps);
  constexpr std::size_t kIdentityDigits = 16;
  const std::string name = fs::path(source.source()).lexically_normal().stem().string();
  check_staging_directory(directory);
  plan.directory = name_for_this_user(
      fmt::format("{}/{}-{}", directory, name, plan.identity.substr(0, kIdentityDigits)));
  const Space space = space_near(directory);
  plan.free_bytes = space.free_bytes;
  plan.is_in_memory = space.is_in_memory;
  plan.is_staged = holds_staged_set(plan.directory, plan.identity);
}

}  // namespace

Ranges merged(Ranges ranges) {
  std::erase_if(ranges, [](const auto& range) { return range.first >= range.second; });
  std::sort(ranges.begin(), ranges.end());
  Ranges result;
  for (const auto& range : ranges) {
    if (!result.empty() && range.first <= result.back().second) {
      result.back().second = std::max(result.back().second, range.second);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

Ranges needed_on_node(const Ranges& mine, const runner::Communicator& node) {
  std::vector<std::int64_t> flat;
  for (const auto& [first, last] : mine) flat.insert(flat.end(), {first, last});
  flat = broadcast(node, node.gather(std::span<const std::int64_t>(flat), 0));
  Ranges all;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) all.emplace_back(flat[i], flat[i + 1]);
  return merged(std::move(all));
}

std::int64_t StagingPlan::bytes_on_disk() const {
  constexpr std::int64_t kManifestAndBlocks = 1 << 20;
  return bytes + samples * static_cast<std::int64_t>(sizeof(PackedSample)) + kManifestAndBlocks;
}

std::vector<std::int64_t> StagingPlan::indices(std::int64_t first, std::int64_t last) const {
  std::vector<std::int64_t> found;
  std::int64_t position = 0;
  for (const auto& [begin, end] : ranges) {
    const std::int64_t count = end - begin;
    const std::int64_t from = std::clamp<std::int64_t>(first - position, 0, count);
    const std::int64_t to = std::clamp<std::int64_t>(last - position, 0, count);
    for (std::int64_t i = from; i < to; ++i) found.push_back(begin + i);
    position += count;
  }
  return found;
}

bool fit_together(const std::vector<StagingPlan>& plans) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const StagingPlan& plan : plans) left = std::min(left, plan.free_bytes);
  return std::all_of(plans.begin(), plans.end(), [&left](const StagingPlan& plan) {
    left -= plan.bytes_to_write();
    return plan.is_staged || left >= 0;
  });
}

nlohmann::json to_json(const StagingPlan& plan) {
  return {{"directory", plan.directory},
          {"identity", plan.identity},
          {"samples", plan.samples},
          {"bytes", plan.bytes},
          {"bytes_on_disk", plan.bytes_on_disk()},
          {"free_bytes", plan.free_bytes},
          {"is_in_memory", plan.is_in_memory},
          {"is_staged", plan.is_staged},
          {"fits", fit_together({plan})}};
}

StagingPlan plan_staging(const dataset::Dataset& source, const Ranges& ranges,
                         const runner::Communicator& world, const runner::Topology& topology,
                         const std::string& directory) {
  check_ranges(source, ranges);
  const runner::Communicator& node = topology.node;
  StagingPlan plan;
  plan.ranges = needed_on_node(ranges, node);
  for (const auto& [first, last] : plan.ranges) plan.samples += last - first;
  const std::vector<std::int64_t> stamps = stamps_of(source, plan, world, node);
  if (topology.is_node_leader()) examine(source, stamps, node.size(), directory, plan);
  plan.identity = node.broadcast(plan.identity, 0);
  plan.directory = node.broadcast(plan.directory, 0);
  plan.shares = broadcast(node, plan.shares);
  const auto received =
      broadcast(node, {plan.bytes, plan.free_bytes, plan.is_in_memory, plan.is_staged});
  plan.bytes = received[0];
  plan.free_bytes = received[1];
  plan.is_in_memory = received[2] != 0;
  plan.is_staged = received[3] != 0;
  return plan;
}

}  // namespace staging

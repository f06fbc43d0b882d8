// What staging would copy to a node, and whether it fits.
#include "staging/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "runner/base/error.h"
#include "staging/manifest.h"
#include "staging/own_folder.h"
#include "staging/pack_list.h"
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

/// The samples of `packs`, in whose order each rank's share is a run.
Ranges samples_of(const PackList& list, const std::vector<std::int64_t>& packs) {
  Ranges ranges;
  for (const std::int64_t number : packs) {
    ranges.emplace_back(list[number].first, list.last(number));
  }
  return merged(std::move(ranges));
}

std::string identity_of(const PackList& list, const dataset::Dataset& source,
                        const Ranges& ranges) {
  std::string text = list.identity(source);
  for (const auto& [first, last] : ranges) text += fmt::format("\n{}-{}", first, last);
  return hash_text(text.data(), text.size());
}

/// Cuts `packs` where the running sum of their bytes reaches each rank's share.
std::vector<std::int64_t> shares_of(const PackList& list, const std::vector<std::int64_t>& packs,
                                    std::int64_t bytes, int ranks) {
  std::vector<std::int64_t> shares = {0};
  std::int64_t before = 0, samples = 0;
  for (const std::int64_t number : packs) {
    while (std::ssize(shares) < ranks &&
           before >= split_evenly(bytes, ranks, std::ssize(shares)).first) {
      shares.push_back(samples);
    }
    before += list[number].bytes;
    samples += list.last(number) - list[number].first;
  }
  shares.resize(static_cast<std::size_t>(ranks) + 1, samples);
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
void examine(const PackList& list, const dataset::Dataset& source, const std::string& directory,
             StagingPlan& plan) {
  plan.identity = identity_of(list, source, plan.ranges);
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
  const PackList list = list_packs(source, world);
  const std::vector<std::int64_t> packs = list.packs_of(needed_on_node(ranges, node));
  StagingPlan plan;
  plan.ranges = samples_of(list, packs);
  for (const auto& [first, last] : plan.ranges) plan.samples += last - first;
  for (const std::int64_t number : packs) plan.bytes += list[number].bytes;
  plan.shares = shares_of(list, packs, plan.bytes, node.size());
  if (topology.is_node_leader()) examine(list, source, directory, plan);
  plan.identity = node.broadcast(plan.identity, 0);
  plan.directory = node.broadcast(plan.directory, 0);
  const auto received = broadcast(node, {plan.free_bytes, plan.is_in_memory, plan.is_staged});
  plan.free_bytes = received[0];
  plan.is_in_memory = received[1] != 0;
  plan.is_staged = received[2] != 0;
  return plan;
}

}  // namespace staging

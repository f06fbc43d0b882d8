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
#include "staging/own_folder.h"
#include "staging/pack_file.h"
#include "staging/pack_list.h"
#include "staging/space.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRecordsAndBlocks = 1 << 20;

void check_ranges(const dataset::Dataset& source, const Ranges& ranges) {
  for (const auto& [first, last] : ranges) {
    if (first < 0 || last > source.size()) {
      throw base::ConfigError(fmt::format("{}: samples {} to {} of {} cannot be staged",
                                          source.source(), first, last, source.size()));
    }
  }
}

/// Sets what follows from the packs.
void count_samples(StagingPlan& plan) {
  plan.samples = plan.bytes = plan.copy_bytes = 0;
  for (const std::int64_t number : plan.packs) {
    plan.samples += plan.list->last(number) - (*plan.list)[number].first;
    plan.bytes += (*plan.list)[number].bytes;
    plan.copy_bytes += (*plan.list)[number].bytes + (*plan.list)[number].more_bytes;
  }
}

/// Run by the leader, which then broadcasts the result to the node.
void examine(const dataset::Dataset& source, const std::string& directory, StagingPlan& plan) {
  plan.identity = plan.list->identity(source);
  constexpr std::size_t kIdentityDigits = 16;
  const std::string name = fs::path(source.source()).lexically_normal().stem().string();
  check_staging_directory(directory);
  plan.directory = name_for_this_user(
      fmt::format("{}/{}-{}", directory, name, plan.identity.substr(0, kIdentityDigits)));
  const Space space = space_near(directory);
  plan.free_bytes = space.free_bytes;
  plan.is_in_memory = space.is_in_memory;
  plan.missing = missing_packs(plan.directory, plan.identity, plan.packs);
}

std::int64_t bytes_with_indexes(const PackList& list, const std::vector<std::int64_t>& packs) {
  std::int64_t sum = 0;
  for (const std::int64_t number : packs) sum += stored_bytes(list, number);
  return sum;
}

}  // namespace

std::vector<std::int64_t> broadcast_numbers(const runner::Communicator& node,
                                            const std::vector<std::int64_t>& values) {
  const std::string bytes = node.broadcast(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])),
      0);
  std::vector<std::int64_t> received(bytes.size() / sizeof(values[0]));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(received.data()));
  return received;
}

Ranges needed_on_node(const Ranges& mine, const runner::Communicator& node) {
  std::vector<std::int64_t> flat;
  for (const auto& [first, last] : mine) flat.insert(flat.end(), {first, last});
  flat = broadcast_numbers(node, node.gather(std::span<const std::int64_t>(flat), 0));
  Ranges all;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) all.emplace_back(flat[i], flat[i + 1]);
  return merged(std::move(all));
}

std::int64_t StagingPlan::bytes_on_disk() const {
  return bytes_with_indexes(*list, packs) + kRecordsAndBlocks;
}

std::int64_t StagingPlan::bytes_to_write() const {
  return is_staged() ? 0 : bytes_with_indexes(*list, missing) + kRecordsAndBlocks;
}

void StagingPlan::leave_out(const std::vector<std::int64_t>& numbers) {
  const auto is_left_out = [&](std::int64_t number) {
    return std::binary_search(numbers.begin(), numbers.end(), number);
  };
  std::erase_if(packs, is_left_out);
  std::erase_if(missing, is_left_out);
  count_samples(*this);
}

bool fit_together(const std::vector<StagingPlan>& plans) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const StagingPlan& plan : plans) left = std::min(left, plan.free_bytes);
  return std::all_of(plans.begin(), plans.end(), [&left](const StagingPlan& plan) {
    left -= plan.bytes_to_write();
    return plan.is_staged() || left >= 0;
  });
}

nlohmann::json to_json(const StagingPlan& plan) {
  return {{"directory", plan.directory},
          {"identity", plan.identity},
          {"samples", plan.samples},
          {"bytes", plan.bytes},
          {"copy_bytes", plan.copy_bytes},
          {"packs", plan.packs.size()},
          {"missing_packs", plan.missing.size()},
          {"bytes_on_disk", plan.bytes_on_disk()},
          {"free_bytes", plan.free_bytes},
          {"is_in_memory", plan.is_in_memory},
          {"is_staged", plan.is_staged()},
          {"fits", fit_together({plan})}};
}

StagingPlan plan_staging(const dataset::Dataset& source, const Ranges& ranges,
                         const runner::Communicator& world, const runner::Topology& topology,
                         const std::string& directory, Compressed compressed) {
  check_ranges(source, ranges);
  const runner::Communicator& node = topology.node;
  StagingPlan plan;
  plan.list = std::make_shared<const PackList>(list_packs(source, world, compressed));
  plan.packs = plan.list->packs_of(needed_on_node(ranges, node));
  count_samples(plan);
  if (topology.is_node_leader()) examine(source, directory, plan);
  plan.identity = node.broadcast(plan.identity, 0);
  plan.directory = node.broadcast(plan.directory, 0);
  plan.missing = broadcast_numbers(node, plan.missing);
  const auto received = broadcast_numbers(node, {plan.free_bytes, plan.is_in_memory});
  plan.free_bytes = received[0];
  plan.is_in_memory = received[1] != 0;
  return plan;
}

}  // namespace staging

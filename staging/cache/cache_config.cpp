// Parsing of the "cache" section of a configuration.
#include "staging/cache/cache_config.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cache {
namespace {

/// More is a mistake, and sums of two of them must not overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

std::vector<std::pair<std::string, Policy>> policies() {
  std::vector<std::pair<std::string, Policy>> all;
  for (const Policy one : {Policy::kNextUse, Policy::kLru, Policy::kNone}) {
    all.emplace_back(to_string(one), one);
  }
  return all;
}

}  // namespace

const char* to_string(Policy policy) {
  switch (policy) {
    case Policy::kNextUse:
      return "next_use";
    case Policy::kLru:
      return "lru";
    case Policy::kNone:
      return "none";
  }
  return "";
}

nlohmann::json to_json(const CacheConfig& config) {
  return {{"memory_bytes", config.memory_bytes},
          {"disk_bytes", config.disk_bytes},
          {"policy", to_string(config.policy)},
          {"peers", config.peers == Peering::kAsk}};
}

CacheConfig parse_cache(const base::ObjectReader& section) {
  CacheConfig config;
  config.memory_bytes = section.optional<std::int64_t>(
      "memory_bytes", config.memory_bytes,
      "memory of a node for encoded training samples that are streamed; 0: none",
      base::within(0, kMostBytes));
  config.disk_bytes = section.optional<std::int64_t>(
      "disk_bytes", config.disk_bytes,
      "space of a node in staging.directory for those that memory has no room for; 0: none",
      base::within(0, kMostBytes));
  config.policy = section.choice<Policy>(
      "policy", config.policy, policies(),
      "which samples are kept where not all fit. next_use: those drawn next, as the order is "
      "known; lru: those drawn last; none: no sample");
  const bool asks = section.optional<bool>(
      "peers", true, "ranks share what they keep, over TCP; false: each keeps for itself alone");
  config.peers = asks ? Peering::kAsk : Peering::kIgnore;
  return config;
}

}  // namespace cache

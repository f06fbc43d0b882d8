// Makes the caches of all ranks, together.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/strict_json.h"
#include "runner/base/system_facts.h"
#include "runner/together.h"
#include "staging/cache/cache.h"
#include "staging/own_folder.h"
#include "staging/space.h"
#include "staging/staged_folder.h"

namespace cache {
namespace {

/// On a node's leader.
void make_room(const std::string& directory, std::int64_t bytes) {
  staging::make_staging_directory(directory);
  staging::remove_leftovers(directory);
  const staging::Space space = staging::space_at(directory);
  if (bytes <= space.free_bytes) return;
  throw base::SystemError(fmt::format(
      "{}: {}: cache.disk_bytes is {}, but {} bytes{} are free; give less, or another folder by "
      "--set staging.directory=FOLDER",
      directory, base::host_name(), bytes, space.free_bytes,
      space.is_in_memory ? " of memory (tmpfs)" : ""));
}

using Json = nlohmann::json;

/// Where this rank's server may be reached, for all ranks.
std::string to_text(const Server& server) {
  return base::json_line(Json{{"port", server.port()},
                              {"hosts", network_addresses()},
                              {"name", base::printable(base::host_name())}});
}

/// Ranks on one host find each other there, whatever its networks are.
PeerAddress address_of(const Json& told) {
  PeerAddress address = {told["port"].get<std::uint16_t>(),
                         told["hosts"].get<std::vector<std::string>>(),
                         told["name"].get<std::string>()};
  if (address.name == base::printable(base::host_name())) {
    address.hosts.insert(address.hosts.begin(), kThisHost);
  }
  return address;
}

Json parsed(const std::string& text) {
  return base::parse_strict_json(text, "cache: addresses of ranks", base::JsonComments::kRefused);
}

/// Collective. Every rank's text, in order.
Json exchange(const std::string& mine, const runner::Communicator& world) {
  Json all = Json::array();
  for (const std::string& text : world.gather(mine, 0)) all.push_back(parsed(text));
  return parsed(world.broadcast(base::json_line(all), 0));
}

/// Collective.
Shared join(Store& store, const Server::Limits& limits, const staging::Place& place) {
  const auto& [world, topology, clock] = place;
  Shared shared;
  Secret secret{};
  const Reach reach = topology.node_count == 1 ? Reach::kThisHost : Reach::kNetwork;
  runner::on_rank_0(world, [&] { secret = random_secret(); });
  world.broadcast(std::as_writable_bytes(std::span(secret)), 0);
  runner::together(world, [&] {
    shared.server = std::make_unique<Server>(store, world.rank(), secret, reach, limits);
  });
  std::vector<PeerAddress> addresses;
  for (const Json& told : exchange(to_text(*shared.server), world)) {
    addresses.push_back(address_of(told));
  }
  shared.peers = std::make_unique<Peers>(std::move(addresses), secret, limits.sample_bytes);
  return shared;
}

}  // namespace

std::shared_ptr<Cache> open_cache(const CacheConfig& config, const std::string& directory,
                                  std::shared_ptr<const dataset::Dataset> source, Schedule schedule,
                                  const staging::Place& place) {
  const auto& [world, topology, clock] = place;
  const std::int64_t sharers = topology.node.size();
  const Caps caps = {config.memory_bytes / sharers, config.disk_bytes / sharers};
  std::unique_ptr<DiskFiles> files;
  if (config.disk_bytes > 0) {
    runner::together(world, [&] {
      if (topology.is_node_leader()) make_room(directory, config.disk_bytes);
    });
    runner::together(world, [&] { files = std::make_unique<DiskFiles>(directory); });
  }
  auto store = std::make_unique<Store>(caps, config.policy, std::move(files));
  Shared shared;
  if (config.peers == Peering::kAsk && world.size() > 1) {
    shared =
        join(*store, {source->size(), std::max(config.memory_bytes, config.disk_bytes)}, place);
  }
  return std::make_shared<Cache>(std::move(source), std::move(schedule), world.rank(),
                                 std::move(store), std::move(shared));
}

}  // namespace cache

// Compares hashes across ranks; gathers them only if some differ.
#include "runner/drifted_ranks.h"

#include <fmt/format.h>

#include <bit>

namespace runner {

std::string drifted_ranks(const Communicator& world, std::uint64_t hash) {
  const auto mine = std::bit_cast<std::int64_t>(hash);
  if (world.allreduce_min(mine) == world.allreduce_max(mine)) return "";
  const auto hashes = world.gather(std::span<const std::int64_t>(&mine, 1), 0);
  std::string differing;
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) {
      differing += fmt::format("{}{}", differing.empty() ? "" : ", ", rank);
    }
  }
  return world.broadcast(differing, 0);
}

}  // namespace runner

// Which nodes read a set together, so that each of its packs is read once for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "staging/pack_list.h"

namespace staging {

/// Nodes that miss the same packs.
struct ReadingNodes {
  int group = 0;  ///< in order of their first nodes
  int place = 0;  ///< of this node among them, in the order of nodes
  int nodes = 1;
};
/// `missing_of_node`: a hash of the packs that each node misses. Nodes of equal hashes are taken to
/// miss the same.
ReadingNodes reading_nodes(std::span<const std::uint64_t> missing_of_node, int node);

/// The packs that each of `readers` reads of `packs`: consecutive ones, about equal in bytes.
std::vector<std::vector<std::int64_t>> shares_of(const PackList& list,
                                                 const std::vector<std::int64_t>& packs,
                                                 int readers);

}  // namespace staging

// Which nodes read a set together.
#include "staging/node_plan.h"

#include <algorithm>
#include <cstddef>

#include "runner/base/split_evenly.h"

namespace staging {

ReadingNodes reading_nodes(std::span<const std::uint64_t> missing_of_node, int node) {
  const std::uint64_t mine = missing_of_node[static_cast<std::size_t>(node)];
  ReadingNodes found{0, 0, 0};
  std::vector<std::uint64_t> groups;
  for (std::size_t i = 0; i < missing_of_node.size(); ++i) {
    const std::uint64_t missing = missing_of_node[i];
    const bool is_new = std::find(groups.begin(), groups.end(), missing) == groups.end();
    if (is_new) groups.push_back(missing);
    if (missing != mine) continue;
    if (is_new) found.group = static_cast<int>(groups.size()) - 1;
    if (i < static_cast<std::size_t>(node)) ++found.place;
    ++found.nodes;
  }
  return found;
}

std::vector<std::vector<std::int64_t>> shares_of(const PackList& list,
                                                 const std::vector<std::int64_t>& packs,
                                                 int readers) {
  std::vector<std::vector<std::int64_t>> shares(static_cast<std::size_t>(readers));
  std::int64_t bytes = 0, before = 0;
  for (const std::int64_t number : packs) bytes += list[number].bytes;
  int reader = 0;
  for (const std::int64_t number : packs) {
    // A pack is read by the one in whose part of all bytes it begins. Those of no bytes at the end
    // are read by the last one.
    while (reader + 1 < readers && before >= base::split_evenly(bytes, readers, reader).second) {
      ++reader;
    }
    shares[static_cast<std::size_t>(reader)].push_back(number);
    before += list[number].bytes;
  }
  return shares;
}

}  // namespace staging

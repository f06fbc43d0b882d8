// Measures rates of memory, arithmetic and disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/communicator.h"

namespace doctor {

/// Rates of a node with all its ranks at once. The catalogue has the definitions.
struct NodeRates {
  double memory_bytes_per_s = 0.0, compute_flops_per_s = 0.0;
  std::int64_t triad_bytes = 0;  ///< size of all arrays on the node
};

/// Collective on `node`, the ranks that share this machine. Each rank runs `threads` threads. Uses
/// at most a quarter of `memory_available` for all ranks together. The result is the same on every
/// rank.
NodeRates measure_node(const runner::Communicator& node, int threads,
                       std::int64_t memory_available);

struct DiskRates {
  double write_bytes_per_s = 0.0, read_bytes_per_s = 0.0;
  std::int64_t bytes = 0;
  bool is_in_memory = false;
};
/// Writes an unlinked file in `folder`, at most 64 MiB, a tenth of the free space, and for two
/// seconds; syncs it and reads it back. Throws SystemError.
DiskRates measure_disk(const std::string& folder);

}  // namespace doctor

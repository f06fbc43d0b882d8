// What a configuration asks of a node: memory, folders, arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/config_source.h"
#include "runner/workload.h"

namespace doctor {

/// Paths that a run reads or writes.
struct Folders {
  std::vector<std::string> dataset;
  std::vector<std::string> shared;  ///< results and checkpoints: of all nodes
  std::string scratch;              ///< node-local
};

struct Needs {
  bool has_configuration = false;  ///< the memory below is that of a configuration
  std::int64_t ranks = 1, node_ranks = 1, threads = 1;
  std::int64_t node_bytes = 0;    ///< memory of all ranks of a node
  std::int64_t rank_bytes = 0;    ///< address space of one
  std::int64_t shared_bytes = 0;  ///< in /dev/shm, on a node
  std::int64_t file_bytes = 0;    ///< the largest file that a run writes, about
  std::int64_t gradient_bytes = 0;
  bool wants_bf16 = false;
  bool stages = false;  ///< copies its data to the scratch folder
  std::string clear_caches = "never";
  Folders folders;
};

/// Without a configuration: what MPI alone needs, and the folder for temporary files.
Needs needs_of_mpi(const runner::PlannedRank& place);
/// What a configuration's keys say, without the memory that its training takes.
Needs needs_of_keys(const runner::ConfigSource& source, const runner::PlannedRank& place);
/// Plans memory without taking it. Throws ConfigError where the configuration cannot be trained on
/// this number of ranks, or not by this CPU.
Needs needs_of(const runner::ConfigSource& source, const runner::PlannedRank& place);

}  // namespace doctor

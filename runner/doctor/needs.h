// The needs of a configuration on a node: memory, folders, arithmetic.
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
  std::vector<std::string> shared;  ///< results and checkpoints, shared by all nodes
  std::string scratch;              ///< node-local
};

struct Needs {
  bool has_configuration = false;  ///< the sizes below include a configuration's memory
  std::int64_t ranks = 1, node_ranks = 1, threads = 1;
  std::int64_t node_bytes = 0;    ///< memory of all ranks of a node
  std::int64_t rank_bytes = 0;    ///< address space of one rank
  std::int64_t shared_bytes = 0;  ///< in /dev/shm, per node
  std::int64_t file_bytes = 0;    ///< approximate size of the largest file that a run writes
  std::int64_t gradient_bytes = 0;
  bool wants_bf16 = false;
  bool stages = false;  ///< copies its data to the scratch folder
  std::string clear_caches = "never";
  Folders folders;
};

/// Without a configuration: the needs of MPI, and the folder for temporary files.
Needs mpi_requirements(const runner::PlannedRank& place);
/// The needs given by a configuration's keys, without the memory for training.
Needs needs_of_keys(const runner::ConfigSource& source, const runner::PlannedRank& place);
/// Plans memory without allocating it. Throws ConfigError if the configuration cannot be trained on
/// this number of ranks or on this CPU.
Needs needs_of(const runner::ConfigSource& source, const runner::PlannedRank& place);

}  // namespace doctor

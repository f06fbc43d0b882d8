// What a job would read and copy, as a look at some samples or its plans tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "staging/choose.h"
#include "staging/plan.h"
#include "staging/wanted.h"

namespace staging {

/// What the ranks of one node need and have.
struct NodeNeeds {
  std::int64_t needed = 0, samples = 0;  ///< bytes and samples that they may read, of all sets
  std::int64_t copied = 0;               ///< `needed` as copies hold them, some expanded
  std::int64_t missing = 0;              ///< bytes of `needed` that are not in the node's folder
  std::int64_t to_write = 0;             ///< bytes that copies of them take there
  std::int64_t lack = 0;                 ///< equal on nodes that lack the same
  std::int64_t room = 0;  ///< bytes that copies may take in the folder; on a tmpfs the memory that
                          ///< the ranks need is left free
  bool is_in_memory = false;     ///< the folder is on a tmpfs
  std::int64_t cache_bytes = 0;  ///< memory that can keep what was read
  std::int64_t epoch_bytes = 0;  ///< that they read in an epoch
};

struct Survey {
  std::vector<NodeNeeds> nodes;      ///< by node index; the same on every rank
  std::vector<std::string> hosts;    ///< by node index
  std::vector<double> sample_bytes;  ///< by set: mean size of a sample
  std::vector<Ranges> ranges;        ///< by set: what this rank's node needs
  Sizes sizes;
  Horizon horizon;
};

/// Collective over all ranks. Looks at no more than 1000 samples of each set, spread over it, so
/// that a set that is then streamed is not examined file by file. Everything is taken to be
/// missing. Throws AgreedError for a sample that cannot be examined.
Survey look_around(const std::vector<Wanted>& sets, const StagingConfig& config,
                   const Outlook& outlook, const Place& place);

/// Collective over all ranks. Replaces what look_around() has assumed by what the plans of the sets
/// tell.
void be_exact(Survey& survey, const std::vector<StagingPlan>& plans,
              const runner::Communicator& world, const runner::Topology& topology);

/// Sizes of all nodes together. `hosts`: names of nodes for messages.
Sizes sizes_of(const std::vector<NodeNeeds>& nodes, const std::vector<std::string>& hosts);

}  // namespace staging

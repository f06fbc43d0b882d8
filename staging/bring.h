// Copies to nodes what they miss of a set.
#pragma once

#include <optional>

#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/pack_store.h"
#include "staging/pipeline.h"
#include "staging/plan.h"
#include "staging/staging_config.h"

namespace staging {

/// Collective over all ranks. Copies the packs that `plan` misses to `store`, which exists. nullopt
/// when this rank, or one that it works with, was told to end. Throws DataError,
/// SystemError, and ConfigError for too small a config.memory_bytes.
std::optional<Moved> bring_missing(const dataset::Dataset& source, const StagingPlan& plan,
                                   const PackStore& store, const StagingConfig& config,
                                   const runner::Communicator& world,
                                   const runner::Topology& topology);

}  // namespace staging

// Opening a dataset on many ranks with one look at the file system.
// Hides who looks and how the others learn.
#pragma once

#include <memory>
#include <string>

#include "runner/communicator.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/dataset/open.h"

namespace staging {

/// Collective. Rank 0 alone lists `path`; the others get the listing. Throws AgreedError on every
/// rank when rank 0 could not.
std::shared_ptr<const dataset::Dataset> open_dataset_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::OpenOptions& options = {});

/// The same of a folder of universes, and of one of climate samples.
std::shared_ptr<const dataset::Dataset> open_universes_collective(const runner::Communicator& world,
                                                                  const std::string& path);
std::shared_ptr<const dataset::Dataset> open_climate_collective(const runner::Communicator& world,
                                                                const std::string& path);

/// The same of stats.h5: rank 0 alone reads it.
dataset::ClimateStatistics read_climate_statistics_collective(const runner::Communicator& world,
                                                              const std::string& path);

}  // namespace staging

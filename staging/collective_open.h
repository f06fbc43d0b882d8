// Opening a dataset on many ranks while only rank 0 lists or reads the files.
#pragma once

#include <memory>
#include <string>

#include "runner/communicator.h"
#include "staging/dataset/climate.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/dataset/open.h"
#include "staging/dataset/universe_data.h"

namespace staging {

/// Collective. Rank 0 alone lists `path` and broadcasts the listing. Throws AgreedError on every
/// rank when rank 0 fails.
std::shared_ptr<const dataset::Dataset> open_dataset_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::OpenOptions& options = {});

/// The same for a folder of universes, and for one of climate samples. `shape`: of a sample; much
/// larger files are refused when they are read.
std::shared_ptr<const dataset::Dataset> open_universes_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::UniverseShape& shape);
std::shared_ptr<const dataset::Dataset> open_climate_collective(const runner::Communicator& world,
                                                                const std::string& path,
                                                                const dataset::ClimateShape& shape);

/// The same for stats.h5: rank 0 alone reads it.
dataset::ClimateStatistics read_climate_statistics_collective(const runner::Communicator& world,
                                                              const std::string& path);

}  // namespace staging

// Batches of climate samples.
// Hides how a slot of a batch becomes a file and then values.
#include "workloads/deepcam/climate_data.h"

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "staging/collective_open.h"
#include "staging/dataset/climate_folder.h"

namespace deepcam {
namespace {

parallel::SampleSets::Open open_of(const DataConfig& config, const runner::Communicator& world) {
  return parallel::SampleSets::by_path(
      config.train, config.validation,
      [&world](const std::string& path) { return staging::open_climate_collective(world, path); });
}

}  // namespace

ClimateData::ClimateData(const DataConfig& config, const staging::StagingConfig& staging,
                         std::int64_t global_batch_size, std::int64_t epochs, std::int64_t height,
                         std::int64_t width, const runner::Communicator& world,
                         const runner::Topology& topology, const base::Clock& clock, int threads,
                         std::uint64_t seed)
    : config_(config),
      world_(world),
      threads_(config.decoders(threads)),
      shape_{height, width},
      train_cache_(config.cache_bytes / 5 * 4),
      validation_cache_(config.cache_bytes / 5),
      sets_({.read = config,
             .global_batch_size = global_batch_size,
             .epochs = epochs,
             .seed = seed,
             .staging = staging,
             .group = world.rank(),
             .groups = world.size()},
            open_of(config, world), world, topology, clock) {}

void ClimateData::open() {
  sets_.open();
  learn_statistics();
}

void ClimateData::open_validation() {
  sets_.open_validation();
  learn_statistics();
}

void ClimateData::learn_statistics() {
  if (statistics_) return;
  statistics_ = staging::read_climate_statistics_collective(world_, config_.statistics);
}

const dataset::ClimateStatistics& ClimateData::statistics() const {
  if (!statistics_) {
    throw base::Error(base::ExitCode::kInternal, "climate data: statistics before a set is open");
  }
  return *statistics_;
}

nlohmann::json ClimateData::stage(const parallel::BatchSplit& split) {
  open();
  return sets_.stage(split);
}

nlohmann::json ClimateData::staging_plan(const parallel::BatchSplit& split) {
  return sets_.staging_plan(split);
}

void ClimateData::clean_up() { sets_.clean_up(); }

void ClimateData::read(const dataset::Dataset& source, std::int64_t index, ClimateCache& cache,
                       ClimateSlot& slot) {
  slot.fill(index, cache, [&](dataset::ClimateSample& sample) {
    sets_.count_read(dataset::read_climate(source, index, shape_, sample));
  });
}

std::unique_ptr<ClimateBatches> ClimateData::training_batches(const parallel::BatchSplit& split,
                                                              std::int64_t first_step) {
  open();
  const auto fill = [this, split](std::int64_t batch, std::int64_t slot, ClimateSlot& into) {
    const parallel::SamplePlace place = sets_.training_place(split, batch, slot);
    read(*sets_.train(), place.index, train_cache_, into);
  };
  return std::make_unique<ClimateBatches>(
      threads_, static_cast<int>(config_.prefetch_batches), sets_.batch_samples(split),
      parallel::SampleSets::first_batch(split, first_step), sets_.training_batches(split), fill);
}

std::unique_ptr<ClimateBatches> ClimateData::validation_batches(std::int64_t batch_size) {
  open_validation();
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot, ClimateSlot& into) {
    const std::int64_t index = sets_.validation_place(batch_size, batch, slot).index;
    if (index < 0) {
      into.fill_with_nothing();
    } else {
      read(*sets_.validation(), index, validation_cache_, into);
    }
  };
  return std::make_unique<ClimateBatches>(threads_, static_cast<int>(config_.prefetch_batches),
                                          batch_size, 0, sets_.validation_batches(batch_size),
                                          fill);
}

}  // namespace deepcam

// Batches of climate samples.
#include "workloads/deepcam/climate_data.h"

#include "runner/agreed_error.h"
#include "runner/base/archive_path.h"
#include "runner/base/error.h"
#include "staging/collective_open.h"
#include "staging/dataset/climate_folder.h"

namespace deepcam {
namespace {

parallel::SampleSets::Open open_of(const DataConfig& config, const dataset::ClimateShape& shape,
                                   const runner::Communicator& world) {
  return parallel::SampleSets::by_path(
      config.train, config.validation, [&world, shape](const std::string& path) {
        return staging::open_climate_collective(world, path, shape);
      });
}

}  // namespace

ClimateData::ClimateData(const DataConfig& config, const staging::StagingConfig& staging,
                         const cache::CacheConfig& cache, std::int64_t global_batch_size,
                         std::int64_t epochs, std::int64_t height, std::int64_t width,
                         const runner::Communicator& world, const runner::Topology& topology,
                         const base::Clock& clock, int threads, std::uint64_t seed)
    : parallel::SampleSets({.read = config,
                            .global_batch_size = global_batch_size,
                            .epochs = epochs,
                            .seed = seed,
                            .staging = staging,
                            .cache = cache,
                            .group = world.rank(),
                            .groups = world.size()},
                           open_of(config, {height, width}, world), world, topology, clock),
      config_(config),
      world_(world),
      threads_(config.decoders(threads)),
      shape_{height, width},
      train_cache_(config.cache_bytes / 5 * 4),
      validation_cache_(config.cache_bytes / 5) {}

void ClimateData::open() {
  SampleSets::open();
  learn_statistics();
}

void ClimateData::open_validation() {
  SampleSets::open_validation();
  learn_statistics();
}

void ClimateData::learn_statistics() {
  if (statistics_) return;
  const auto archive = base::archive_path(config_.train);
  if (archive && archive->below.empty() && !config_.names_statistics) {
    throw runner::AgreedError(base::ExitCode::kUsage,
                              "/dataset/statistics: expected a path, such as data.tar/stats.h5, as "
                              "dataset.train names no folder of its archive");
  }
  statistics_ = staging::read_climate_statistics_collective(world_, config_.statistics);
}

const dataset::ClimateStatistics& ClimateData::statistics() const {
  if (!statistics_) {
    throw base::Error(base::ExitCode::kInternal, "climate data: statistics before a set is open");
  }
  return *statistics_;
}

void ClimateData::read(const dataset::Dataset& source, std::int64_t index, ClimateCache& cache,
                       ClimateSlot& slot) {
  bool is_kept = true;
  slot.fill(index, cache, [&](dataset::ClimateSample& sample) {
    is_kept = false;
    count_read(source, dataset::read_climate(source, index, shape_, sample));
  });
  if (is_kept) count_kept(bytes_of(slot.sample()));
}

std::unique_ptr<ClimateBatches> ClimateData::training_batches(const parallel::BatchSplit& split,
                                                              std::int64_t first_step) {
  open();
  const auto fill = [this, split](std::int64_t batch, std::int64_t slot, ClimateSlot& into) {
    const parallel::SamplePlace place = training_place(split, batch, slot);
    read(*train_in(place.epoch), place.index, train_cache_, into);
  };
  return std::make_unique<ClimateBatches>(threads_, static_cast<int>(config_.prefetch_batches),
                                          batch_samples(split), begin_training(split, first_step),
                                          training_batch_count(split), fill);
}

std::unique_ptr<ClimateBatches> ClimateData::validation_batches(std::int64_t batch_size) {
  open_validation();
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot, ClimateSlot& into) {
    const std::int64_t index = validation_place(batch_size, batch, slot).index;
    if (index < 0) {
      into.fill_with_nothing();
    } else {
      read(*validation(), index, validation_cache_, into);
    }
  };
  return std::make_unique<ClimateBatches>(threads_, static_cast<int>(config_.prefetch_batches),
                                          batch_size, 0, validation_batch_count(batch_size), fill);
}

}  // namespace deepcam

// Batches of universes.
#include "workloads/cosmoflow/universe_data.h"

#include "runner/base/random.h"
#include "staging/collective_open.h"
#include "staging/dataset/universe_folder.h"

namespace cosmoflow {
namespace {

std::int64_t points(const dataset::UniverseRegion& region) {
  return region.count[0] * region.count[1] * region.count[2];
}

dataset::UniverseShape shape_of(const ModelConfig& model) {
  return {{model.size, model.size, model.size}, model.redshifts};
}

parallel::SampleSets::Open open_of(const Config& config, const runner::Communicator& world) {
  return parallel::SampleSets::by_path(
      config.data.train, config.data.validation,
      [&world, shape = shape_of(config.model)](const std::string& path) {
        return staging::open_universes_collective(world, path, shape);
      });
}

}  // namespace

UniverseData::UniverseData(const Config& config, const runner::Communicator& world,
                           const runner::Topology& topology, const base::Clock& clock, int threads,
                           std::uint64_t seed, const DataShare& share)
    : parallel::SampleSets({.read = config.data,
                            .global_batch_size = config.global_batch_size,
                            .epochs = config.epochs,
                            .seed = seed,
                            .staging = config.staging,
                            .cache = config.cache,
                            .group = share.group,
                            .groups = share.groups},
                           open_of(config, world), world, topology, clock),
      config_(config.data),
      size_(config.model.size),
      threads_(config.data.decoders(threads)),
      seed_(seed),
      share_(share),
      shape_(shape_of(config.model)),
      train_cache_(config.data.cache_bytes / 5 * 4),
      validation_cache_(config.data.cache_bytes / 5) {}

void UniverseData::read(const dataset::Dataset& source, std::int64_t index, UniverseCache* cache,
                        UniverseSample& sample) {
  sample.index = index;
  if (cache != nullptr && cache->find(index, sample.universe)) {
    return count_kept(std::ssize(sample.universe.counts) *
                      static_cast<std::int64_t>(sizeof(std::int16_t)));
  }
  const dataset::UniverseRegion region = source_region(share_.region, size_, sample.orientation);
  const bool is_whole = points(region) == size_ * size_ * size_;
  count_read(source, dataset::read_universe(source, index, shape_, is_whole ? nullptr : &region,
                                            sample.universe));
  if (cache != nullptr) cache->keep(index, sample.universe);
}

std::unique_ptr<UniverseBatches> UniverseData::training_batches(const parallel::BatchSplit& split,
                                                                std::int64_t first_step) {
  const bool is_turned = config_.flips || config_.transposes;
  const bool has_region = points(share_.region) < size_ * size_ * size_;
  // If samples are mirrored or transposed, a rank with a region needs another part of them each
  // time.
  UniverseCache* const cache = is_turned && has_region ? nullptr : &train_cache_;
  const auto fill = [this, split, cache](std::int64_t batch, std::int64_t slot,
                                         UniverseSample& sample) {
    const parallel::SamplePlace place = training_place(split, batch, slot);
    base::RandomStream random(seed_, base::Purpose::kAugment,
                              static_cast<std::uint64_t>(place.epoch),
                              static_cast<std::uint64_t>(place.index));
    sample.orientation = draw_orientation(random, config_.flips, config_.transposes);
    read(*train_in(place.epoch), place.index, cache, sample);
  };
  return std::make_unique<UniverseBatches>(threads_, static_cast<int>(config_.prefetch_batches),
                                           batch_samples(split), begin_training(split, first_step),
                                           training_batch_count(split), fill);
}

std::unique_ptr<UniverseBatches> UniverseData::validation_batches(std::int64_t batch_size) {
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot,
                                       UniverseSample& sample) {
    sample.index = validation_place(batch_size, batch, slot).index;
    sample.orientation = {};
    if (sample.index >= 0) read(*validation(), sample.index, &validation_cache_, sample);
  };
  return std::make_unique<UniverseBatches>(threads_, static_cast<int>(config_.prefetch_batches),
                                           batch_size, 0, validation_batch_count(batch_size), fill);
}

}  // namespace cosmoflow

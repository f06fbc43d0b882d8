// Batches of universes.
// Hides how a slot of a batch becomes a file and then counts.
#include "workloads/cosmoflow/universe_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/collective_open.h"
#include "staging/dataset/universe_folder.h"

namespace cosmoflow {
namespace {

std::int64_t points(const dataset::UniverseRegion& region) {
  return region.count[0] * region.count[1] * region.count[2];
}

}  // namespace

UniverseData::UniverseData(const Config& config, const runner::Communicator& world,
                           const runner::Topology& topology, const base::Clock& clock, int threads,
                           std::uint64_t seed, const DataShare& share)
    : config_(config),
      world_(world),
      topology_(topology),
      clock_(clock),
      threads_(config.data.decode_threads > 0 ? static_cast<int>(config.data.decode_threads)
                                              : threads),
      seed_(seed),
      share_(share),
      shape_{{config.model.size, config.model.size, config.model.size}, config.model.redshifts},
      train_cache_(config.data.cache_bytes / 5 * 4),
      validation_cache_(config.data.cache_bytes / 5) {
  if (config.data.train_samples > 0) {
    order_.emplace(config.data.train_samples, config.global_batch_size, config.data.shards, seed);
  }
}

void UniverseData::check(const dataset::Dataset& source, const char* key,
                         std::int64_t expected) const {
  if (expected == 0 || source.size() == expected) return;
  throw base::DataError(fmt::format("{}: /dataset/{}: expected {} samples, found {}",
                                    source.source(), key, expected, source.size()));
}

void UniverseData::open() {
  if (!train_) {
    train_ = staging::open_universes_collective(world_, config_.data.train);
    check(*train_, "train_samples", config_.data.train_samples);
  }
  open_validation();
  if (!order_) {
    order_.emplace(train_->size(), config_.global_batch_size, config_.data.shards, seed_);
  }
}

void UniverseData::open_validation() {
  if (validation_) return;
  validation_ = staging::open_universes_collective(world_, config_.data.validation);
  check(*validation_, "validation_samples", config_.data.validation_samples);
}

std::int64_t UniverseData::train_samples() const {
  return train_ ? train_->size() : config_.data.train_samples;
}

std::int64_t UniverseData::validation_samples() const {
  return validation_ ? validation_->size() : config_.data.validation_samples;
}

std::int64_t UniverseData::steps_per_epoch() const {
  return order_ ? order_->steps_per_epoch() : 0;
}

std::pair<std::int64_t, std::int64_t> UniverseData::validation_part() const {
  return staging::split_evenly(validation_samples(), share_.groups, share_.group);
}

staging::Ranges UniverseData::needed_for_training(const parallel::BatchSplit& split) const {
  const std::int64_t count = split.slices[static_cast<std::size_t>(world_.rank())].count;
  staging::Ranges needed;
  for (std::int64_t pass = 0; pass < split.accumulation; ++pass) {
    const std::int64_t first = split.slot(world_.rank(), pass, 0);
    const auto ranges = order_->needed(first, first + count);
    needed.insert(needed.end(), ranges.begin(), ranges.end());
  }
  return needed;
}

nlohmann::json UniverseData::staging_plan(const parallel::BatchSplit& split) {
  if (config_.staging.mode == staging::StagingMode::kNone) return nullptr;
  try {
    open();
  } catch (const base::Error& error) {
    // A plan may be wanted where the data is not; every rank learns of it alike.
    return {{"unknown", error.what()}};
  }
  const auto plan = [&](const Source& source, const staging::Ranges& ranges) {
    return staging::plan_staging(*source, ranges, topology_, config_.staging.directory);
  };
  const auto train = plan(train_, needed_for_training(split));
  const auto validation = plan(validation_, {validation_part()});
  return {{"train", staging::to_json(train)},
          {"validation", staging::to_json(validation)},
          {"fits", staging::fit_together({train, validation})}};
}

nlohmann::json UniverseData::stage(const parallel::BatchSplit& split) {
  open();
  const std::vector<staging::Staged> sets =
      staging::stage({{train_, needed_for_training(split)}, {validation_, {validation_part()}}},
                     config_.staging.mode, config_.staging.directory, world_, topology_, clock_);
  train_ = sets[0].data;
  validation_ = sets[1].data;
  for (const staging::Staged& set : sets) {
    bytes_staged_ += set.copied_bytes;
    if (set.is_ours) staged_directories_.push_back(set.directory);
  }
  return {{"train", staging::to_json(sets[0].facts)},
          {"validation", staging::to_json(sets[1].facts)}};
}

void UniverseData::clean_up() {
  if (config_.staging.keep) return;
  train_.reset();
  validation_.reset();
  for (const std::string& directory : staged_directories_) {
    staging::remove_staged(topology_, directory);
  }
  staged_directories_.clear();
}

void UniverseData::read(const Source& source, std::int64_t index, UniverseCache* cache,
                        UniverseSample& sample) {
  sample.index = index;
  if (cache != nullptr && cache->find(index, sample.universe)) return;
  const dataset::UniverseRegion region =
      source_region(share_.region, config_.model.size, sample.orientation);
  const std::int64_t size = config_.model.size;
  const bool is_whole = points(region) == size * size * size;
  const std::int64_t bytes =
      dataset::read_universe(*source, index, shape_, is_whole ? nullptr : &region, sample.universe);
  bytes_read_.fetch_add(bytes, std::memory_order_relaxed);
  if (cache != nullptr) cache->keep(index, sample.universe);
}

std::unique_ptr<UniverseBatches> UniverseData::training_batches(const parallel::BatchSplit& split,
                                                                std::int64_t first_step) {
  const int rank = world_.rank();
  const std::int64_t steps_per_epoch = order_->steps_per_epoch();
  const bool is_turned = config_.data.flips || config_.data.transposes;
  // Of samples that are turned, a rank that has a region needs another one each time.
  UniverseCache* const cache = is_turned && share_.groups < world_.size() ? nullptr : &train_cache_;
  const auto fill = [this, split, rank, steps_per_epoch, cache](
                        std::int64_t batch, std::int64_t slot, UniverseSample& sample) {
    const std::int64_t step = batch / split.accumulation;
    const std::int64_t epoch = step / steps_per_epoch;
    const std::int64_t index = order_->index(epoch, step % steps_per_epoch,
                                             split.slot(rank, batch % split.accumulation, slot));
    base::RandomStream random(seed_, base::Purpose::kAugment, static_cast<std::uint64_t>(epoch),
                              static_cast<std::uint64_t>(index));
    sample.orientation = draw_orientation(random, config_.data.flips, config_.data.transposes);
    read(train_, index, cache, sample);
  };
  const std::int64_t count = split.slices[static_cast<std::size_t>(rank)].count;
  return std::make_unique<UniverseBatches>(
      threads_, static_cast<int>(config_.data.prefetch_batches), count,
      first_step * split.accumulation, config_.epochs * steps_per_epoch * split.accumulation, fill);
}

std::unique_ptr<UniverseBatches> UniverseData::validation_batches(std::int64_t batch_size) {
  const auto [first, last] = validation_part();
  const auto fill = [this, batch_size, first = first, last = last](
                        std::int64_t batch, std::int64_t slot, UniverseSample& sample) {
    const std::int64_t index = first + batch * batch_size + slot;
    sample.index = -1;
    sample.orientation = {};
    if (index < last) read(validation_, index, &validation_cache_, sample);
  };
  const std::int64_t batches = (last - first + batch_size - 1) / batch_size;
  return std::make_unique<UniverseBatches>(
      threads_, static_cast<int>(config_.data.prefetch_batches), batch_size, 0, batches, fill);
}

ReadCounts UniverseData::take_counts() {
  return {bytes_read_.exchange(0), std::exchange(bytes_staged_, 0)};
}

}  // namespace cosmoflow

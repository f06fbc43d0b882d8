// Batches of augmented images.
// Hides how a slot of a batch becomes a file and then pixels.
#include "workloads/resnet50/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/collective_open.h"

namespace resnet50 {

ImageData::ImageData(const Config& config, const runner::Communicator& world,
                     const runner::Topology& topology, const base::Clock& clock, int threads,
                     std::uint64_t seed)
    : config_(config),
      world_(world),
      topology_(topology),
      clock_(clock),
      decode_threads_(config.data.decode_threads > 0 ? static_cast<int>(config.data.decode_threads)
                                                     : threads),
      seed_(seed),
      preprocess_(config.data.preprocess, static_cast<int>(config.model.image_size),
                  static_cast<int>(config.data.evaluation_resize),
                  static_cast<int>(config.data.largest_shift)) {
  if (config.data.train_samples > 0) {
    order_.emplace(config.data.train_samples, config.training.global_batch_size, config.data.shards,
                   seed);
  }
}

ImageData::Source ImageData::open_listed(const std::string& path, bool is_validation) const {
  dataset::OpenOptions options;
  options.activity = &world_.activity();
  if (is_validation) {
    options.labels_file = config_.data.validation_labels;
    options.first_label = config_.data.first_label;
    if (train_) options.class_names = train_->class_names();
  }
  return staging::open_dataset_collective(world_, path, options);
}

void ImageData::check(const dataset::Dataset& source, const char* key,
                      std::int64_t expected_samples) const {
  if (expected_samples > 0 && source.size() != expected_samples) {
    throw base::DataError(fmt::format("{}: /dataset/{}: expected {} images, found {}",
                                      source.source(), key, expected_samples, source.size()));
  }
  const auto classes = static_cast<std::int64_t>(source.class_names().size());
  if (classes > config_.model.classes) {
    throw base::DataError(
        fmt::format("{}: expected at most the {} classes of /model/classes, found {}",
                    source.source(), config_.model.classes, classes));
  }
}

void ImageData::open() {
  if (train_ && validation_) return;
  train_ = open_listed(config_.data.train, false);
  check(*train_, "train_samples", config_.data.train_samples);
  validation_.reset();
  open_validation();
  if (!order_) {
    order_.emplace(train_->size(), config_.training.global_batch_size, config_.data.shards, seed_);
  }
}

void ImageData::open_validation() {
  if (validation_) return;
  // Class ids come from the training set's class names, unless the validation set has them all.
  const bool named = !config_.data.validation_labels.empty();
  if (!named || train_) validation_ = open_listed(config_.data.validation, true);
  if (!train_ && (named || static_cast<std::int64_t>(validation_->class_names().size()) !=
                               config_.model.classes)) {
    train_ = open_listed(config_.data.train, false);
    check(*train_, "train_samples", config_.data.train_samples);
    validation_ = open_listed(config_.data.validation, true);
  }
  check(*validation_, "validation_samples", config_.data.validation_samples);
}

std::int64_t ImageData::train_samples() const {
  return train_ ? train_->size() : config_.data.train_samples;
}

std::int64_t ImageData::validation_samples() const {
  return validation_ ? validation_->size() : config_.data.validation_samples;
}

std::int64_t ImageData::steps_per_epoch() const { return order_ ? order_->steps_per_epoch() : 0; }

std::pair<std::int64_t, std::int64_t> ImageData::validation_part(int rank) const {
  return staging::split_evenly(validation_samples(), world_.size(), rank);
}

staging::Ranges ImageData::needed_for_training(const parallel::BatchSplit& split) const {
  const std::int64_t count = split.slices[static_cast<std::size_t>(world_.rank())].count;
  staging::Ranges needed;
  for (std::int64_t pass = 0; pass < split.accumulation; ++pass) {
    const std::int64_t first = split.slot(world_.rank(), pass, 0);
    const auto ranges = order_->needed(first, first + count);
    needed.insert(needed.end(), ranges.begin(), ranges.end());
  }
  return needed;
}

nlohmann::json ImageData::staging_plan(const parallel::BatchSplit& split) {
  if (config_.staging.mode == staging::StagingMode::kNone) return nullptr;
  try {
    open();
  } catch (const base::Error& error) {
    // A plan may be wanted where the data is not; every rank learns of it alike.
    return {{"unknown", error.what()}};
  }
  const std::string& directory = config_.staging.directory;
  const auto plan = [&](const Source& source, const staging::Ranges& ranges) {
    return staging::plan_staging(*source, ranges, topology_, directory);
  };
  const auto train = plan(train_, needed_for_training(split));
  const auto validation = plan(validation_, {validation_part(world_.rank())});
  return {{"train", staging::to_json(train)},
          {"validation", staging::to_json(validation)},
          {"fits", staging::fit_together({train, validation})}};
}

nlohmann::json ImageData::stage(const parallel::BatchSplit& split) {
  open();
  const std::vector<staging::Staged> sets = staging::stage(
      {{train_, needed_for_training(split)}, {validation_, {validation_part(world_.rank())}}},
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

void ImageData::clean_up() {
  if (config_.staging.keep) return;
  train_.reset();
  validation_.reset();
  for (const std::string& directory : staged_directories_)
    staging::remove_staged(topology_, directory);
  staged_directories_.clear();
}

bool ImageData::decode(const dataset::Dataset& source, std::int64_t index, dataset::Image& image) {
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  bytes_read_.fetch_add(static_cast<std::int64_t>(bytes.size()), std::memory_order_relaxed);
  try {
    image = dataset::decode_image(bytes, source.name(index));
    return true;
  } catch (const base::DataError&) {
    if (config_.data.on_corrupt == OnCorrupt::kError) throw;
    skipped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
}

std::unique_ptr<staging::Prefetcher> ImageData::training_batches(const parallel::BatchSplit& split,
                                                                 std::int64_t first_step) {
  const int rank = world_.rank();
  const std::int64_t steps_per_epoch = order_->steps_per_epoch();
  const auto fill = [this, split, rank, steps_per_epoch](std::int64_t batch, std::int64_t sample,
                                                         std::span<float> out,
                                                         std::int32_t& label) {
    const std::int64_t step = batch / split.accumulation;
    const std::int64_t epoch = step / steps_per_epoch;
    const std::int64_t slot = split.slot(rank, batch % split.accumulation, sample);
    const std::int64_t index = order_->index(epoch, step % steps_per_epoch, slot);
    dataset::Image image;
    if (!decode(*train_, index, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    base::RandomStream random(seed_, base::Purpose::kAugment, static_cast<std::uint64_t>(epoch),
                              static_cast<std::uint64_t>(index));
    preprocess_.train(image, random, out);
    label = train_->label(index);
  };
  const std::int64_t count = split.slices[static_cast<std::size_t>(rank)].count;
  const std::int64_t last = config_.epochs * steps_per_epoch * split.accumulation;
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), count,
      preprocess_.sample_floats(), first_step * split.accumulation, last, fill);
}

std::unique_ptr<staging::Prefetcher> ImageData::validation_batches(std::int64_t batch_size) {
  const auto [first, last] = validation_part(world_.rank());
  const auto fill = [this, batch_size, first = first, last = last](
                        std::int64_t batch, std::int64_t sample, std::span<float> out,
                        std::int32_t& label) {
    const std::int64_t index = first + batch * batch_size + sample;
    dataset::Image image;
    if (index >= last || !decode(*validation_, index, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    preprocess_.evaluate(image, out);
    label = validation_->label(index);
  };
  const std::int64_t batches = (last - first + batch_size - 1) / batch_size;
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), batch_size,
      preprocess_.sample_floats(), 0, batches, fill);
}

ReadCounts ImageData::take_counts() {
  return {bytes_read_.exchange(0), skipped_.exchange(0), std::exchange(bytes_staged_, 0)};
}

}  // namespace resnet50

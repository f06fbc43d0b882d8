// Batches of augmented images.
// Hides how a slot of a batch becomes a file and then pixels.
#include "workloads/resnet50/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/collective_open.h"

namespace resnet50 {
ImageData::ImageData(const Config& config, const runner::Communicator& world,
                     const runner::Topology& topology, const base::Clock& clock, int threads,
                     std::uint64_t seed)
    : config_(config),
      world_(world),
      decode_threads_(config.data.decoders(threads)),
      seed_(seed),
      preprocess_(config.data.preprocess, static_cast<int>(config.model.image_size),
                  static_cast<int>(config.data.evaluation_resize),
                  static_cast<int>(config.data.largest_shift)),
      sets_(
          {.read = config.data,
           .global_batch_size = config.training.global_batch_size,
           .epochs = config.epochs,
           .seed = seed,
           .staging = config.staging,
           .group = world.rank(),
           .groups = world.size()},
          [this](Sets::Sources& sources, Sets::Need need) { open_sets(sources, need); }, world,
          topology, clock) {}

ImageData::Sets::Source ImageData::open_listed(const std::string& path,
                                               const dataset::OpenOptions& options) const {
  Sets::Source source = staging::open_dataset_collective(world_, path, options);
  const auto classes = static_cast<std::int64_t>(source->class_names().size());
  if (classes > config_.model.classes) {
    throw base::DataError(
        fmt::format("{}: expected at most the {} classes of /model/classes, found {}",
                    source->source(), config_.model.classes, classes));
  }
  return source;
}

ImageData::Sets::Source ImageData::open_validation_set(const Sets::Source& train) const {
  dataset::OpenOptions options;
  options.activity = &world_.activity();
  options.labels_file = config_.data.validation_labels;
  options.first_label = config_.data.first_label;
  if (train) options.class_names = train->class_names();
  return open_listed(config_.data.validation, options);
}

/// Class ids come from the training set's class names, unless the validation set has them all.
void ImageData::open_sets(Sets::Sources& sources, Sets::Need need) const {
  const bool is_named = !config_.data.validation_labels.empty();
  bool needs_train = need == Sets::Need::kBoth || is_named;
  if (!needs_train && !sources.train) {
    sources.validation = open_validation_set(nullptr);
    needs_train = static_cast<std::int64_t>(sources.validation->class_names().size()) !=
                  config_.model.classes;
  }
  if (needs_train && !sources.train) {
    dataset::OpenOptions options;
    options.activity = &world_.activity();
    sources.train = open_listed(config_.data.train, options);
    sources.validation.reset();
  }
  if (!sources.validation) sources.validation = open_validation_set(sources.train);
}

nlohmann::json ImageData::stage(const parallel::BatchSplit& split) { return sets_.stage(split); }

nlohmann::json ImageData::staging_plan(const parallel::BatchSplit& split) {
  return sets_.staging_plan(split);
}

bool ImageData::decode(const dataset::Dataset& source, std::int64_t index, dataset::Image& image) {
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  sets_.count_read(static_cast<std::int64_t>(bytes.size()));
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
  const auto fill = [this, split](std::int64_t batch, std::int64_t slot, std::span<float> out,
                                  std::int32_t& label) {
    const parallel::SamplePlace place = sets_.training_place(split, batch, slot);
    dataset::Image image;
    if (!decode(*sets_.train(), place.index, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    base::RandomStream random(seed_, base::Purpose::kAugment,
                              static_cast<std::uint64_t>(place.epoch),
                              static_cast<std::uint64_t>(place.index));
    preprocess_.train(image, random, out);
    label = sets_.train()->label(place.index);
  };
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), sets_.batch_samples(split),
      preprocess_.sample_floats(), Sets::first_batch(split, first_step),
      sets_.training_batches(split), fill);
}

std::unique_ptr<staging::Prefetcher> ImageData::validation_batches(std::int64_t batch_size) {
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot, std::span<float> out,
                                       std::int32_t& label) {
    const std::int64_t index = sets_.validation_place(batch_size, batch, slot).index;
    dataset::Image image;
    if (index < 0 || !decode(*sets_.validation(), index, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    preprocess_.evaluate(image, out);
    label = sets_.validation()->label(index);
  };
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), batch_size,
      preprocess_.sample_floats(), 0, sets_.validation_batches(batch_size), fill);
}

ReadCounts ImageData::take_counts() { return {sets_.take_counts(), skipped_.exchange(0)}; }

}  // namespace resnet50

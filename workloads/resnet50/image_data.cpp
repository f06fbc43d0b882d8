// Batches of augmented images.
#include "workloads/resnet50/image_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/collective_open.h"

namespace resnet50 {
ImageData::ImageData(const Config& config, const runner::Communicator& world,
                     const runner::Topology& topology, const base::Clock& clock, int threads,
                     std::uint64_t seed)
    : parallel::SampleSets(
          {.read = config.data,
           .global_batch_size = config.training.global_batch_size,
           .epochs = config.epochs,
           .seed = seed,
           .staging = config.staging,
           .cache = config.cache,
           .group = world.rank(),
           .groups = world.size()},
          [this](Sources& sources, Need need) { open_sets(sources, need); }, world, topology,
          clock),
      config_(config),
      world_(world),
      decode_threads_(config.data.decoders(threads)),
      seed_(seed),
      preprocess_(config.data.preprocess, static_cast<int>(config.model.image_size),
                  static_cast<int>(config.data.evaluation_resize),
                  static_cast<int>(config.data.largest_shift), config.data.scaled_decoding) {}

ImageData::Source ImageData::open_listed(const std::string& path,
                                         const dataset::OpenOptions& options) const {
  Source source = staging::open_dataset_collective(world_, path, options);
  const auto classes = static_cast<std::int64_t>(source->class_names().size());
  if (classes > config_.model.classes) {
    throw base::DataError(
        fmt::format("{}: expected at most the {} classes of /model/classes, found {}",
                    source->source(), config_.model.classes, classes));
  }
  return source;
}

ImageData::Source ImageData::open_validation_set(const Source& train) const {
  dataset::OpenOptions options;
  options.activity = &world_.activity();
  options.labels_file = config_.data.validation_labels;
  options.first_label = config_.data.first_label;
  if (train) options.class_names = train->class_names();
  return open_listed(config_.data.validation, options);
}

/// Class ids come from the training set's class names, unless the validation set has all classes.
void ImageData::open_sets(Sources& sources, Need need) const {
  const bool is_named = !config_.data.validation_labels.empty();
  bool needs_train = need == Need::kBoth || is_named;
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

bool ImageData::decode(SampleSet set, const dataset::Dataset& source, std::int64_t index,
                       const dataset::ChooseView& choose, dataset::Image& image) {
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  count_read(source, static_cast<std::int64_t>(bytes.size()));
  try {
    const std::string name = source.name(index);
    image = dataset::decode_view(bytes, name, choose);
    if (!image.flaw.empty()) {
      count_flawed(set, index,
                   fmt::format("{}: {}; no pixel is missing, so it is used", name, image.flaw));
    }
    return true;
  } catch (const base::DataError& error) {
    if (config_.data.on_corrupt == OnCorrupt::kError) {
      throw base::DataError(
          fmt::format("{}; dataset.on_corrupt: skip leaves such images out", error.what()));
    }
    count_skipped(set, index);
    return false;
  }
}

std::unique_ptr<staging::Prefetcher> ImageData::training_batches(const parallel::BatchSplit& split,
                                                                 std::int64_t first_step) {
  const auto fill = [this, split](std::int64_t batch, std::int64_t slot, std::span<float> out,
                                  std::int32_t& label) {
    const parallel::SamplePlace place = training_place(split, batch, slot);
    base::RandomStream random(seed_, base::Purpose::kAugment,
                              static_cast<std::uint64_t>(place.epoch),
                              static_cast<std::uint64_t>(place.index));
    const auto choose = [&](int height, int width) {
      return preprocess_.draw_view(height, width, random);
    };
    dataset::Image image;
    if (!decode(SampleSet::kTrain, *train_in(place.epoch), place.index, choose, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    preprocess_.train(image, random, out);
    label = train()->label(place.index);
  };
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), batch_samples(split),
      preprocess_.sample_floats(), begin_training(split, first_step), training_batch_count(split),
      fill);
}

std::unique_ptr<staging::Prefetcher> ImageData::validation_batches(std::int64_t batch_size) {
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot, std::span<float> out,
                                       std::int32_t& label) {
    const std::int64_t index = validation_place(batch_size, batch, slot).index;
    dataset::Image image;
    if (index < 0 ||
        !decode(SampleSet::kValidation, *validation(), index, dataset::whole_image, image)) {
      std::fill(out.begin(), out.end(), 0.0F);
      label = -1;
      return;
    }
    preprocess_.evaluate(image, out);
    label = validation()->label(index);
  };
  return std::make_unique<staging::Prefetcher>(
      decode_threads_, static_cast<int>(config_.data.prefetch_batches), batch_size,
      preprocess_.sample_floats(), 0, validation_batch_count(batch_size), fill);
}

}  // namespace resnet50

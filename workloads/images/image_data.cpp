// Batches of augmented images.
#include "workloads/images/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/collective_open.h"

namespace images {
namespace {

/// The next use of all validation images: the first that come are kept.
constexpr std::int64_t kAlwaysUsed = 0;

}  // namespace

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
                  static_cast<int>(config.data.largest_shift), config.data.scaled_decoding),
      train_images_(config.data.cache_bytes / 5 * 4),
      validation_images_(config.data.cache_bytes / 5) {}

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

std::int64_t ImageData::next_use(const cache::Schedule& schedule,
                                 const parallel::SamplePlace& place) const {
  if (config_.data.cache_bytes == 0) return cache::kNever;
  const std::int64_t step = schedule.next_draw_by(world_.rank(), place.index, place.epoch);
  // In epochs: an image that replaces another of the same epoch saves no more than that one does,
  // but all of it has to be decoded.
  return step == cache::kNever ? step : step / steps_per_epoch();
}

bool ImageData::bring(const Wanted& wanted, const dataset::Dataset& source,
                      const dataset::ChooseView& choose, dataset::Image& image) {
  auto found = images_of(wanted.set).find(wanted.index, wanted.next_use, choose);
  if (!found) return decode(wanted, source, choose, image);
  image = std::move(*found);
  count_kept(std::ssize(image.pixels));
  return true;
}

bool ImageData::decode(const Wanted& wanted, const dataset::Dataset& source,
                       const dataset::ChooseView& choose, dataset::Image& image) {
  std::vector<std::byte> bytes;
  source.read(wanted.index, bytes);
  count_read(source, static_cast<std::int64_t>(bytes.size()));
  try {
    const std::string name = source.name(wanted.index);
    image = images_of(wanted.set).decode(bytes, name, wanted.index, wanted.next_use, choose);
    if (!image.flaw.empty()) {
      count_flawed(wanted.set, wanted.index,
                   fmt::format("{}: {}; no pixel is missing, so it is used", name, image.flaw));
    }
    return true;
  } catch (const base::DataError& error) {
    if (config_.data.on_corrupt == OnCorrupt::kError) {
      throw base::DataError(
          fmt::format("{}; dataset.on_corrupt: skip leaves such images out", error.what()));
    }
    count_skipped(wanted.set, wanted.index);
    return false;
  }
}

std::unique_ptr<staging::Prefetcher> ImageData::training_batches(const parallel::BatchSplit& split,
                                                                 std::int64_t first_step) {
  const auto fill = [this, split, draws = schedule(split)](std::int64_t batch, std::int64_t slot,
                                                           std::span<float> out,
                                                           std::int32_t& label) {
    const parallel::SamplePlace place = training_place(split, batch, slot);
    const Wanted wanted{SampleSet::kTrain, place.index, next_use(draws, place)};
    base::RandomStream random(seed_, base::Purpose::kAugment,
                              static_cast<std::uint64_t>(place.epoch),
                              static_cast<std::uint64_t>(place.index));
    const auto choose = [&](int height, int width) {
      return preprocess_.draw_view(height, width, random);
    };
    dataset::Image image;
    if (!bring(wanted, *train_in(place.epoch), choose, image)) {
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

nn::SampleStreams ImageData::streams_of(const parallel::BatchSplit& split,
                                        std::int64_t batch) const {
  nn::SampleStreams streams = {seed_, 0, {}};
  for (std::int64_t slot = 0; slot < batch_samples(split); ++slot) {
    const parallel::SamplePlace place = training_place(split, batch, slot);
    streams.epoch = static_cast<std::uint64_t>(place.epoch);  // all slots of a batch have one
    streams.samples.push_back(static_cast<std::uint64_t>(place.index));
  }
  return streams;
}

std::unique_ptr<staging::Prefetcher> ImageData::validation_batches(std::int64_t batch_size) {
  const auto fill = [this, batch_size](std::int64_t batch, std::int64_t slot, std::span<float> out,
                                       std::int32_t& label) {
    const std::int64_t index = validation_place(batch_size, batch, slot).index;
    const Wanted wanted{SampleSet::kValidation, index, kAlwaysUsed};
    dataset::Image image;
    if (index < 0 || !bring(wanted, *validation(), dataset::whole_image, image)) {
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

}  // namespace images

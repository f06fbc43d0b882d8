// The training and validation sets of a run.
#include "workloads/parallel/sample_sets.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "runner/agreed_error.h"
#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/split_evenly.h"

namespace parallel {
namespace {

void check_count(const dataset::Dataset& source, const char* key, std::int64_t expected) {
  if (expected == 0 || source.size() == expected) return;
  throw base::DataError(fmt::format("{}: /dataset/{}: expected {} samples, found {}",
                                    source.source(), key, expected, source.size()));
}

}  // namespace

SampleSets::Open SampleSets::by_path(std::string train, std::string validation,
                                     std::function<Source(const std::string& path)> open) {
  return [train = std::move(train), validation = std::move(validation), open = std::move(open)](
             Sources& sources, Need need) {
    if (need == Need::kBoth && !sources.train) sources.train = open(train);
    if (!sources.validation) sources.validation = open(validation);
  };
}

SampleSets::SampleSets(const SampleSetsConfig& config, Open open, const runner::Communicator& world,
                       const runner::Topology& topology, const base::Clock& clock)
    : config_(config), open_(std::move(open)), world_(world), topology_(topology), clock_(clock) {
  if (config.read.train_samples > 0) make_order(config.read.train_samples);
}

void SampleSets::make_order(std::int64_t samples) {
  if (order_) return;
  order_.emplace(samples, config_.global_batch_size, config_.read.shards, config_.seed);
}

void SampleSets::open() {
  if (sources_.train && sources_.validation) return;
  learn(Need::kBoth);
  make_order(sources_.train->size());
}

void SampleSets::open_validation() {
  if (!sources_.validation) learn(Need::kValidation);
}

/// Keeps no source whose count is wrong, so that a later call fails, too.
void SampleSets::learn(Need need) {
  Sources found = sources_;
  open_(found, need);
  if (found.train) check_count(*found.train, "train_samples", config_.read.train_samples);
  check_count(*found.validation, "validation_samples", config_.read.validation_samples);
  sources_ = std::move(found);
}

std::int64_t SampleSets::train_samples() const {
  return sources_.train ? sources_.train->size() : config_.read.train_samples;
}

std::int64_t SampleSets::validation_samples() const {
  return sources_.validation ? sources_.validation->size() : config_.read.validation_samples;
}

std::int64_t SampleSets::steps_per_epoch() const { return order_ ? order_->steps_per_epoch() : 0; }

std::pair<std::int64_t, std::int64_t> SampleSets::validation_part() const {
  return base::split_evenly(validation_samples(), config_.groups, config_.group);
}

staging::Ranges SampleSets::needed_for_training(const BatchSplit& split) const {
  const std::int64_t count = batch_samples(split);
  staging::Ranges needed;
  for (std::int64_t pass = 0; pass < split.accumulation; ++pass) {
    const std::int64_t first = split.slot(world_.rank(), pass, 0);
    const auto ranges = order_->needed(first, first + count);
    needed.insert(needed.end(), ranges.begin(), ranges.end());
  }
  return needed;
}

std::vector<staging::Wanted> SampleSets::wanted(const BatchSplit& split) const {
  // The ranks that split a sample read it together.
  const auto drawn =
      static_cast<double>(batch_samples(split) * split.accumulation * steps_per_epoch()) /
      static_cast<double>(split.ranks_per_sample);
  const auto [first, last] = validation_part();
  const double evaluated = static_cast<double>(last - first) * ahead_.evaluations_per_epoch /
                           static_cast<double>(split.ranks_per_sample);
  return {{"train", sources_.train, needed_for_training(split), drawn},
          {"validation", sources_.validation, {{first, last}}, evaluated}};
}

staging::Outlook SampleSets::outlook() const { return outlook_of(ahead_, steps_per_epoch()); }

nlohmann::json SampleSets::staging_plan(const BatchSplit& split) {
  if (config_.staging.mode == staging::StagingMode::kStream) return nullptr;
  try {
    SampleSets::open();  // not an override, which might open more than the samples
  } catch (const base::Error& error) {
    // A plan may be made where the data is missing. All ranks see the same error.
    return {{"unknown", error.what()}};
  }
  const staging::Place place{world_, topology_, clock_};
  return staging::Staging(wanted(split), config_.staging, place, outlook()).plan();
}

nlohmann::json SampleSets::stage(const BatchSplit& split) {
  open();
  const bool chooses = config_.staging.mode == staging::StagingMode::kAuto;
  staging_.emplace(wanted(split), config_.staging, staging::Place{world_, topology_, clock_},
                   chooses ? outlook() : staging::Outlook());
  staging_->copy();
  sources_ = {staging_->data(0), staging_->data(1)};
  if (staging_->is_under_way()) return nullptr;
  nlohmann::json facts = staging_->facts();
  if (staging_->mode() == staging::StagingMode::kStream && config_.cache.keeps()) {
    make_cache(split);
    facts["cache"] = cache::to_json(config_.cache);
  }
  return facts;
}

nlohmann::json SampleSets::finish_staging(staging::Finish when) {
  return staging_->finish(when) ? staging_->facts() : nullptr;
}

void SampleSets::make_cache(const BatchSplit& split) {
  if (split.ranks_per_sample > 1) {
    throw runner::AgreedError(base::ExitCode::kUsage,
                              fmt::format("/cache: caches hold whole samples, but {} ranks split "
                                          "each; set memory_bytes and disk_bytes to 0",
                                          split.ranks_per_sample));
  }
  cache_ = cache::open_cache(config_.cache, config_.staging.directory, sources_.train,
                             schedule(split), staging::Place{world_, topology_, clock_});
}

cache::Schedule SampleSets::schedule(const BatchSplit& split) const {
  std::vector<std::int64_t> first_slots;
  for (const nn::PassSlice& slice : split.slices) first_slots.push_back(slice.first);
  return {*order_, std::move(first_slots), split.pass_samples, config_.epochs};
}

SampleSets::Source SampleSets::train_in(std::int64_t epoch) const {
  if (!cache_) return sources_.train;
  return std::make_shared<cache::CachedDataset>(cache_, epoch);
}

void SampleSets::count_read(const dataset::Dataset& set, std::int64_t bytes) {
  bytes_read_.fetch_add(bytes, std::memory_order_relaxed);
  // The cache counts what goes through it.
  const bool is_past_cache = &set == sources_.train.get() || &set == sources_.validation.get();
  if (is_past_cache) read_.count_from_source(bytes);
}

void SampleSets::clean_up() {
  if (cache_) world_.barrier();  // nobody asks this rank any more
  cache_.reset();
  sources_ = {};
  if (staging_) staging_->leave();
  staging_.reset();
}

std::int64_t SampleSets::first_batch(const BatchSplit& split, std::int64_t step) {
  return step * split.accumulation;
}

std::int64_t SampleSets::begin_training(const BatchSplit& split, std::int64_t first_step) const {
  if (cache_) cache_->begin(first_step / steps_per_epoch());
  return first_batch(split, first_step);
}

std::int64_t SampleSets::training_batch_count(const BatchSplit& split) const {
  return first_batch(split, config_.epochs * steps_per_epoch());
}

std::int64_t SampleSets::batch_samples(const BatchSplit& split) const {
  return split.slices[static_cast<std::size_t>(world_.rank())].count;
}

SamplePlace SampleSets::training_place(const BatchSplit& split, std::int64_t batch,
                                       std::int64_t slot) const {
  const std::int64_t step = batch / split.accumulation, steps = order_->steps_per_epoch();
  const std::int64_t epoch = step / steps;
  return {epoch, order_->index(epoch, step % steps,
                               split.slot(world_.rank(), batch % split.accumulation, slot))};
}

std::int64_t SampleSets::validation_batch_count(std::int64_t batch_size) const {
  const auto [first, last] = validation_part();
  return base::ceil_div(last - first, batch_size);
}

SamplePlace SampleSets::validation_place(std::int64_t batch_size, std::int64_t batch,
                                         std::int64_t slot) const {
  const auto [first, last] = validation_part();
  const std::int64_t index = first + batch * batch_size + slot;
  return {0, index < last ? index : -1};
}

ReadCounts SampleSets::take_counts() {
  staging::LevelCounts read = read_.take();
  if (cache_) read += cache_->take_levels();
  staging::LevelCounts levels = (staging_ ? staging_->take_levels() : std::nullopt).value_or(read);
  levels += kept_.take();
  return {bytes_read_.exchange(0), staging_ ? staging_->take_copied_bytes() : 0, skipped_.take(),
          flawed_.take(), levels};
}

std::vector<std::string> SampleSets::take_remarks() {
  std::vector<std::string> remarks;
  if (staging_) remarks = staging_->take_remarks();
  if (cache_) {
    for (std::string& remark : cache_->take_remarks()) remarks.push_back(std::move(remark));
  }
  flaw_.take_into(remarks);
  for (const Source& source : {sources_.train, sources_.validation}) {
    if (!source) continue;
    for (std::string& remark : source->take_remarks()) remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace parallel

// Opens and stages the click logs of a run.
#include "workloads/dlrm/click_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/error.h"
#include "runner/together.h"

namespace dlrm {

ClickData::ClickData(ClickDataOptions options, const runner::Communicator& world,
                     const runner::Topology& topology, const base::Clock& clock)
    : options_(std::move(options)), world_(world), topology_(topology), clock_(clock) {
  dataset::check_click_ids(options_.format, options_.ids);
  if (options_.train_samples > 0) {
    order_.emplace(options_.train_samples, options_.global_batch, options_.shuffle, options_.seed);
  }
}

ClickData::File ClickData::open_file(const std::string& path, std::int64_t expected_samples,
                                     const char* key) const {
  auto file = std::make_shared<const dataset::ClickFile>(path, options_.format);
  if (expected_samples > 0 && file->samples() != expected_samples) {
    throw base::DataError(fmt::format("{}: /dataset/{}: expected {} samples, found {}", path, key,
                                      expected_samples, file->samples()));
  }
  return file;
}

void ClickData::open() {
  if (train_ && test_) return;
  File train, test = test_;
  runner::together(world_, [&] {
    train = open_file(options_.train, options_.train_samples, "train_samples");
    if (!test) test = open_file(options_.test, options_.test_samples, "test_samples");
  });
  train_ = std::move(train);
  test_ = std::move(test);
  if (!order_) {
    order_.emplace(train_->samples(), options_.global_batch, options_.shuffle, options_.seed);
  }
}

void ClickData::open_validation() {
  if (test_) return;
  File test;
  runner::together(world_,
                   [&] { test = open_file(options_.test, options_.test_samples, "test_samples"); });
  test_ = std::move(test);
}

std::int64_t ClickData::train_samples() const {
  return train_ ? train_->samples() : options_.train_samples;
}

std::int64_t ClickData::validation_samples() const {
  return test_ ? test_->samples() : options_.test_samples;
}

std::int64_t ClickData::steps_per_epoch() const { return order_ ? order_->steps_per_epoch() : 0; }

std::int64_t ClickData::batch_samples(std::int64_t step) const { return order_->block(step).count; }

RecordRange ClickData::evaluation_part(int rank) const {
  return dlrm::evaluation_part(validation_samples(), world_.size(), rank);
}

std::int64_t ClickData::evaluation_steps(std::int64_t batch) const {
  return dlrm::evaluation_steps(validation_samples(), world_.size(), batch);
}

std::vector<staging::Wanted> ClickData::wanted() const {
  const RecordRange part = evaluation_part(world_.rank());
  const auto train = train_->pieces();
  // Each rank reads its slice of every batch, and its part of the test file in each evaluation.
  const double drawn = static_cast<double>(train->size()) / world_.size();
  const double share = static_cast<double>(part.count) /
                       static_cast<double>(std::max<std::int64_t>(test_->samples(), 1));
  const auto test = test_->pieces();
  return {{"train", train, {{0, train->size()}}, drawn},
          {"test",
           test,
           {test_->pieces_of(part.first, part.first + part.count)},
           share * static_cast<double>(test->size()) * ahead_.evaluations_per_epoch}};
}

staging::Outlook ClickData::outlook() const {
  return parallel::outlook_of(ahead_, steps_per_epoch());
}

nlohmann::json ClickData::staging_plan(const parallel::BatchSplit& /*split*/) {
  if (options_.staging.mode == staging::StagingMode::kStream) return nullptr;
  try {
    open();
  } catch (const base::Error& error) {
    // A plan may be made where the data is missing. All ranks see the same error.
    return {{"unknown", error.what()}};
  }
  const staging::Place place{world_, topology_, clock_};
  return staging::Staging(wanted(), options_.staging, place, outlook()).plan();
}

nlohmann::json ClickData::stage(const parallel::BatchSplit& /*split*/) {
  open();
  const bool chooses = options_.staging.mode == staging::StagingMode::kAuto;
  staging_.emplace(wanted(), options_.staging, staging::Place{world_, topology_, clock_},
                   chooses ? outlook() : staging::Outlook());
  staging_->copy();
  // Records in place are read by their number, of a copy only whole pieces.
  if (staging_->mode() != staging::StagingMode::kStream) {
    train_ = std::make_shared<const dataset::ClickFile>(*train_, staging_->data(0));
    test_ = std::make_shared<const dataset::ClickFile>(*test_, staging_->data(1));
  }
  return staging_->is_under_way() ? nullptr : staging_->facts();
}

nlohmann::json ClickData::finish_staging(staging::Finish when) {
  return staging_->finish(when) ? staging_->facts() : nullptr;
}

void ClickData::clean_up() {
  train_.reset();
  test_.reset();
  if (staging_) staging_->leave();
  staging_.reset();
}

ClickBatches::Source ClickData::source_of(const File& file) {
  return {file, options_.ids, options_.prefetch_batches, &read_};
}

std::unique_ptr<ClickBatches> ClickData::training_batches(const nn::PassSlice& slice,
                                                          std::int64_t first_step,
                                                          std::int64_t last_step) {
  return dlrm::training_batches(source_of(train_), *order_, slice, first_step, last_step);
}

std::unique_ptr<ClickBatches> ClickData::evaluation_batches(std::int64_t batch) {
  return dlrm::evaluation_batches(source_of(test_), evaluation_part(world_.rank()), batch,
                                  evaluation_steps(batch));
}

parallel::ReadCounts ClickData::take_counts() {
  const staging::LevelCounts read = read_.take();
  const auto levels = staging_ ? staging_->take_levels() : std::nullopt;
  return {.bytes = read.source_bytes,
          .staged = staging_ ? staging_->take_copied_bytes() : 0,
          .levels = levels.value_or(read)};
}

std::vector<std::string> ClickData::take_remarks() {
  std::vector<std::string> remarks;
  if (staging_) remarks = staging_->take_remarks();
  for (const File& file : {train_, test_}) {
    if (!file) continue;
    for (std::string& remark : file->take_remarks()) remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace dlrm

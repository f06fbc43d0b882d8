// Fixture for tests of the pipeline: every rank is a node of its own with its own folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/activity.h"
#include "runner/base/temporary_directory.h"
#include "runner/communicator.h"
#include "runner/stop_signals.h"
#include "staging/made_dataset.h"
#include "staging/pack_list.h"
#include "staging/pack_store.h"
#include "staging/pipeline.h"

namespace staging {

class PipelineOnRanks : public testing::Test {
 protected:
  static constexpr std::int64_t kSamples = 1500;

  PipelineOnRanks()
      : world_(std::make_shared<const runner::Communicator>(runner::Communicator::world())),
        source_(std::make_shared<MadeDataset>(MadeDataset::random(kSamples, 2000).sizes)),
        list_(std::make_shared<const PackList>(list_packs(*source_, *world_))) {}

  std::string folder_of_rank() const { return folder_.path().string() + "/set"; }
  SetRecord record() const {
    return {list_->identity(*source_),
            "memory",
            list_->count(),
            kSamples,
            list_->bytes(),
            "a test",
            false};
  }
  /// An empty copy.
  void begin_set() const {
    std::filesystem::remove_all(folder_of_rank());
    std::filesystem::create_directory(folder_of_rank());
    write_record(folder_of_rank(), record());
  }
  PackStore store() const { return {folder_of_rank(), record()}; }
  std::vector<std::int64_t> all_packs() const {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(list_->count()));
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    return numbers;
  }
  Route route_alone() const { return {nullptr, {all_packs()}}; }

  /// What this rank moved; nullopt if it was stopped.
  std::optional<Moved> run(Route route, const PipelineLimits& limits, const Writing& writing = {}) {
    const PackStore copy = store();
    Pipeline pipeline(*source_, *list_, copy, std::move(route), limits, writing,
                      {activity_, runner::is_told_to_end});
    for (;;) {
      const Pipeline::Progress progress = pipeline.advance();
      if (progress == Pipeline::Progress::kDone) return pipeline.moved();
      if (progress == Pipeline::Progress::kStopped) return std::nullopt;
    }
  }
  void expect_whole() const {
    for (std::int64_t number = 0; number < list_->count(); ++number) {
      ASSERT_EQ(store().find_damage(number), "");
    }
    expect_no_parts();
  }
  void expect_no_parts() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_of_rank())) {
      EXPECT_EQ(entry.path().string().find(".part."), std::string::npos) << entry.path();
    }
  }

  std::shared_ptr<const runner::Communicator> world_;
  std::shared_ptr<MadeDataset> source_;
  std::shared_ptr<const PackList> list_;
  base::TemporaryDirectory folder_;
  base::Activity activity_;
};

}  // namespace staging

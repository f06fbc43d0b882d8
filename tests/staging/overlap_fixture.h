// Fixture for tests of copying that goes on while samples are read.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "staging/stage_fixture.h"

namespace staging {

class OverlapOnRanks : public StagingOnRanks {
 protected:
  static constexpr std::int64_t kSize = 100;

  /// Of "set", all of it on each node.
  std::unique_ptr<Staging> begin(const runner::Topology& topology,
                                 const std::shared_ptr<const dataset::Dataset>& source,
                                 Afterwards afterwards = Afterwards::kRemove,
                                 StagingMode mode = StagingMode::kShard) const {
    StagingConfig config{mode, directory(topology), afterwards};
    config.overlap = true;
    auto staging = std::make_unique<Staging>(
        std::vector<Wanted>{{"set", source, {{0, source->size()}}}}, config, place(topology));
    staging->copy();
    return staging;
  }
  /// A source that `on_copy` is called for when threads that copy read it.
  std::shared_ptr<MemoryDataset> source_with(std::function<void()> on_copy) const {
    auto source = std::make_shared<MemoryDataset>(kSize);
    source->at_read = [own = std::this_thread::get_id(), on_copy = std::move(on_copy)] {
      if (std::this_thread::get_id() != own) on_copy();
    };
    return source;
  }
  void expect_all_readable(const Staging& staging) const {
    const auto data = staging.data(0);
    for (std::int64_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(content(*data, i), MemoryDataset::text(i));
      ASSERT_EQ(data->bytes(i), static_cast<std::int64_t>(MemoryDataset::text(i).size()));
    }
  }
  void wait_for_end(Staging& staging) const {
    while (!staging.finish(Finish::kIfDone)) {
      staging.advance();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static std::int64_t all_bytes() {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < kSize; ++i) bytes += std::ssize(MemoryDataset::text(i));
    return bytes;
  }
};

}  // namespace staging

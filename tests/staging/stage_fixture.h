// Fixture for tests of staging: ranks that pretend to be on several nodes, and samples in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/temporary_directory.h"
#include "runner/communicator.h"
#include "runner/pretend_nodes.h"
#include "staging/dataset/dataset.h"
#include "staging/pack_store.h"
#include "staging/stage.h"

namespace staging {

namespace fs = std::filesystem;

/// Samples "sample 17 ....." of different sizes. Counts the reads.
class MemoryDataset final : public dataset::Dataset {
 public:
  explicit MemoryDataset(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t index) const override { return static_cast<int>(index % 2); }
  std::int64_t bytes(std::int64_t index) const override {
    return claimed_bytes > 0 ? claimed_bytes : static_cast<std::int64_t>(text(index).size());
  }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    const std::string found = written_over.empty() ? text(index) : written_over;
    const auto bytes = std::as_bytes(std::span(found));
    out.assign(bytes.begin(), bytes.end());
    ++reads;
    if (at_read) at_read();
  }
  std::string name(std::int64_t index) const override { return "sample " + std::to_string(index); }
  Stamp stamp(std::int64_t index) const override {
    if (at_stamp) at_stamp();
    return {bytes(index), mtime_ns};
  }
  static std::string text(std::int64_t index) {
    return "sample " + std::to_string(index) +
           std::string(static_cast<std::size_t>(index * 7), '.');
  }

  mutable std::atomic<std::int64_t> reads{0};
  std::function<void()> at_read, at_stamp;
  std::int64_t claimed_bytes = 0, mtime_ns = 5;
  std::string written_over;  ///< if not empty, the content of every sample

 private:
  std::int64_t size_;
  std::vector<std::string> names_ = {"even", "odd"};
};

/// Pretends that the ranks are spread over several nodes, and gives each node a folder.
class StagingOnRanks : public testing::Test {
 protected:
  /// A set after Staging::copy(), and its owner.
  struct Copied {
    std::unique_ptr<Staging> staging;
    std::shared_ptr<const dataset::Dataset> data;
    nlohmann::json facts;
    std::string directory;  ///< of the copy on this node
    void leave() const { staging->leave(); }
  };

  StagingOnRanks() : world_(runner::Communicator::world()) {
    if (world_.rank() == 0) folder_ = std::make_unique<base::TemporaryDirectory>();
    root_ = world_.broadcast(folder_ ? folder_->path().string() : "", 0);
  }
  ~StagingOnRanks() override { world_.barrier(); }

  runner::Topology nodes(int count) const { return runner::pretend_nodes(world_, count); }
  std::string directory(const runner::Topology& topology) const {
    return root_ + "/node" + std::to_string(topology.node_index);
  }
  Place place(const runner::Topology& topology) const { return {world_, topology, clock_}; }
  /// Copies one set, which facts and plans call "set".
  Copied stage_on(const runner::Topology& topology,
                  const std::shared_ptr<const dataset::Dataset>& source, const Ranges& ranges,
                  Afterwards afterwards = Afterwards::kRemove, Reuse reuse = Reuse::kUnread,
                  StagingMode mode = StagingMode::kShard) const {
    Copied copied{std::make_unique<Staging>(
                      std::vector<Wanted>{{"set", source, ranges}},
                      StagingConfig{mode, directory(topology), afterwards, reuse}, place(topology)),
                  nullptr, nullptr, ""};
    copied.staging->copy();
    copied.data = copied.staging->data(0);
    copied.facts = copied.staging->facts().at("set");
    copied.directory = copied.staging->plan().at("set").at("directory").get<std::string>();
    return copied;
  }
  /// Stages samples and then ends like a killed job: the locks are released, the copy remains.
  std::string die_with_copy(const runner::Topology& topology, std::int64_t samples,
                            Afterwards afterwards = Afterwards::kRemove) const {
    const auto source = std::make_shared<MemoryDataset>(samples);
    const bool leads = topology.is_node_leader();
    std::string left, aside;
    {
      const Copied copied = stage_on(topology, source, {{0, samples}}, afterwards);
      left = copied.directory;
      aside = left + ".aside";
      if (leads) fs::copy(left, aside, fs::copy_options::recursive);
      world_.barrier();
    }
    // The end of a living process may have removed it.
    if (leads) fs::remove_all(left);
    if (leads) fs::rename(aside, left);
    world_.barrier();
    return left;
  }
  static std::string content(const dataset::Dataset& data, std::int64_t index) {
    std::vector<std::byte> bytes;
    data.read(index, bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const runner::Communicator world_;
  const base::SystemClock clock_;
  std::unique_ptr<base::TemporaryDirectory> folder_;
  std::string root_;
};

/// The files of a set's packs, sorted.
inline std::vector<std::string> pack_files(const std::string& set) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(set)) {
    if (number_of_pack_file(entry.path().filename().string())) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Overwrites all samples of a pack.
inline void overwrite_samples_of(const std::string& set, std::int64_t number) {
  const PackStore store = PackStore::of(set);
  const std::int64_t bytes =
      check_trailer(dataset::File(store.path(number)), store.name(number)).bytes;
  std::fstream file(store.path(number), std::ios::in | std::ios::out | std::ios::binary);
  for (std::int64_t i = 0; i < bytes; ++i) file.put('?');
}

/// Overwrites all samples of a set.
inline void overwrite_samples(const std::string& set) {
  for (const std::string& path : pack_files(set)) {
    overwrite_samples_of(set,
                         *number_of_pack_file(std::filesystem::path(path).filename().string()));
  }
}

/// Runs `damage` on rank 0 only, between barriers.
template <class Damage>
void on_leader(const runner::Communicator& world, Damage&& damage) {
  world.barrier();
  if (world.rank() == 0) damage();
  world.barrier();
}

}  // namespace staging

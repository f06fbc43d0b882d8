// Reads the samples of a streamed training set from what is kept of them, else from their source,
// and decides what to keep. Bytes and order of samples stay as they are without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "staging/cache/cache_config.h"
#include "staging/cache/peers.h"
#include "staging/cache/schedule.h"
#include "staging/cache/server.h"
#include "staging/cache/store.h"
#include "staging/dataset/dataset.h"
#include "staging/level_counts.h"
#include "staging/wanted.h"

namespace cache {

/// What joins the caches of all ranks, on one of them.
struct Shared {
  std::unique_ptr<Server> server;
  std::unique_ptr<Peers> peers;
};

/// The cache of one rank. Reads are thread-safe.
///
/// Alone, it keeps what this rank draws. Joined with others, each sample has a home, the rank that
/// draws it in the run's first epoch: only that one keeps it, for all, by its next draw by any
/// rank. Others ask it, read the source where it has nothing, and then offer it the sample.
class Cache {
 public:
  /// `shared`: empty if the cache is alone.
  Cache(std::shared_ptr<const dataset::Dataset> source, Schedule schedule, int rank,
        std::unique_ptr<Store> store, Shared shared);

  /// The epoch with which the run begins, the same on all ranks.
  void begin(std::int64_t first_epoch) { first_epoch_ = first_epoch; }
  const dataset::Dataset& source() const { return *source_; }
  /// Reads a sample that this rank draws in `epoch`. Throws what reading the source does.
  void read(std::int64_t epoch, std::int64_t index, std::vector<std::byte>& out);
  /// What read() returned since the last call, by where it was.
  staging::LevelCounts take_levels() { return levels_.take(); }
  /// Of the cache only, not of its source.
  std::vector<std::string> take_remarks();

 private:
  void read_as_keeper(std::int64_t index, std::int64_t next_use, std::vector<std::byte>& out);
  void read_as_guest(int home, std::int64_t epoch, std::int64_t index, std::int64_t next_use,
                     std::vector<std::byte>& out);
  void read_source(std::int64_t index, std::vector<std::byte>& out);

  const std::shared_ptr<const dataset::Dataset> source_;
  const Schedule schedule_;
  const int rank_;
  const std::unique_ptr<Store> store_;
  const Shared shared_;  ///< after the store, which the server uses
  std::atomic<std::int64_t> first_epoch_{0};
  staging::LevelCounter levels_;
};

/// The samples as they are drawn in an epoch, through a cache: the view of one reader.
class CachedDataset final : public dataset::Dataset {
 public:
  CachedDataset(std::shared_ptr<Cache> cache, std::int64_t epoch)
      : cache_(std::move(cache)), epoch_(epoch) {}

  std::int64_t size() const override { return whole().size(); }
  const std::vector<std::string>& class_names() const override { return whole().class_names(); }
  std::int32_t label(std::int64_t index) const override { return whole().label(index); }
  std::int64_t bytes(std::int64_t index) const override { return whole().bytes(index); }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    cache_->read(epoch_, index, out);
  }
  std::string name(std::int64_t index) const override { return whole().name(index); }
  std::string source() const override { return whole().source(); }
  Stamp stamp(std::int64_t index) const override { return whole().stamp(index); }

 private:
  const dataset::Dataset& whole() const { return cache_->source(); }
  const std::shared_ptr<Cache> cache_;
  const std::int64_t epoch_;
};

/// Collective over all ranks. The cache of this rank, which has an equal part of its node's
/// memory and disk. `directory` is staging.directory; leftovers of dead runs there are removed.
/// Throws AgreedError where a node has less space than config.disk_bytes, or a rank fails. All
/// ranks have read for the last time before the first of them destroys its cache.
std::shared_ptr<Cache> open_cache(const CacheConfig& config, const std::string& directory,
                                  std::shared_ptr<const dataset::Dataset> source, Schedule schedule,
                                  const staging::Place& place);

}  // namespace cache

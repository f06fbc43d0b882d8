// The encoded samples that one process keeps in its memory and on its node's storage.
// Hides which of them give way to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "staging/cache/cache_config.h"
#include "staging/cache/disk_files.h"
#include "staging/cache/schedule.h"
#include "staging/dataset/remark.h"

namespace cache {

struct Caps {
  std::int64_t memory_bytes = 0, disk_bytes = 0;
};

enum class Level { kMemory, kDisk };

/// Thread-safe. The samples of a level never have more bytes than its cap; beside them, each
/// thread that calls put() may hold some that are on their way from memory to disk.
///
/// With Policy::kNextUse a sample is kept if it is used again and there is room, or samples whose
/// next use is later can make room, the latest first (Belady's rule). With kLru the least recently
/// used make room. What leaves the memory goes to disk by the same rule.
class Store {
 public:
  /// `disk` may be null if there is no such level.
  Store(const Caps& caps, Policy policy, std::unique_ptr<DiskFiles> disk);

  struct Found {
    Level level = Level::kMemory;
    std::uint64_t hash = 0;  ///< XXH3 of the sample
  };
  /// Reads a sample into `out` (resized), and notes when it is used after this; nullopt if it is
  /// not there. A sample that is damaged on disk is given up.
  std::optional<Found> get(std::int64_t index, std::int64_t next_use, std::vector<std::byte>& out);
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  /// The same without a copy, for samples in memory; else null.
  Bytes share(std::int64_t index, std::int64_t next_use);
  /// Whether put() would probably keep a sample of this size, or of average size.
  bool wants(std::int64_t next_use, std::int64_t size) const;
  bool wants(std::int64_t next_use) const;
  /// Returns whether the sample is kept. One that is there already stays as it is.
  bool put(std::int64_t index, std::span<const std::byte> bytes, std::int64_t next_use);
  /// The same without a copy.
  bool put(std::int64_t index, Bytes bytes, std::int64_t next_use);

  std::int64_t samples() const;
  Caps kept() const;
  void take_remarks_into(std::vector<std::string>& remarks) { remark_.take_into(remarks); }

 private:
  struct Entry {
    Level level = Level::kMemory;
    std::int64_t size = 0;
    std::int64_t rank = 0;  ///< entries of higher rank give way first
    std::uint64_t hash = 0;
    std::uint64_t file = 0;  ///< on disk
    Bytes bytes;             ///< in memory, and until the file is written
  };
  /// A level's entries by rank.
  struct Shelf {
    std::int64_t cap = 0, used = 0;
    std::set<std::pair<std::int64_t, std::int64_t>> order;  ///< (rank, index)
  };
  /// A sample whose file is to be written.
  struct Move {
    std::int64_t index = 0;
    std::uint64_t file = 0;
    Bytes bytes;
  };

  std::int64_t rank_of(std::int64_t next_use) const;
  Shelf& shelf(Level level) { return level == Level::kMemory ? memory_ : disk_; }
  std::optional<std::vector<std::int64_t>> who_gives_way(const Shelf& shelf, std::int64_t size,
                                                         std::int64_t rank) const;
  bool has_place(std::int64_t size, std::int64_t next_use) const;
  std::optional<bool> answer_at_once(std::int64_t index, std::int64_t size, std::int64_t next_use);
  bool keep(std::int64_t index, Bytes bytes, std::int64_t next_use);
  const Entry* use(std::int64_t index, std::int64_t next_use);
  Entry take_out(std::int64_t index);
  void add(std::int64_t index, Entry entry);
  bool add_to_memory(std::int64_t index, Entry& entry, std::vector<Move>& moves);
  bool add_to_disk(std::int64_t index, Entry entry, std::vector<Move>& moves);
  void write(const Move& move);
  void give_up_damaged(std::int64_t index, std::uint64_t file);

  const Policy policy_;
  const std::unique_ptr<DiskFiles> files_;
  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, Entry> entries_;
  Shelf memory_, disk_;
  mutable std::int64_t uses_ = 0;
  std::uint64_t last_file_ = 0;
  dataset::Remark remark_;
};

}  // namespace cache

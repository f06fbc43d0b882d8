// Counts of the samples that a rank reads, by where it finds them.
#pragma once

#include <atomic>
#include <cstdint>

namespace staging {

/// Samples as a Dataset counts them, and their bytes.
struct LevelCounts {
  std::int64_t copy_samples = 0, copy_bytes = 0;      ///< from the node's copy
  std::int64_t source_samples = 0, source_bytes = 0;  ///< from the source
  std::int64_t repaired_samples = 0;  ///< of those from the source, damaged in the copy
  std::int64_t memory_samples = 0, memory_bytes = 0;  ///< from the rank's cache in memory
  std::int64_t disk_samples = 0, disk_bytes = 0;      ///< from the rank's cache on disk
  std::int64_t peer_samples = 0, peer_bytes = 0;      ///< from the cache of another rank

  LevelCounts& operator+=(const LevelCounts& other) {
    copy_samples += other.copy_samples;
    copy_bytes += other.copy_bytes;
    source_samples += other.source_samples;
    source_bytes += other.source_bytes;
    repaired_samples += other.repaired_samples;
    memory_samples += other.memory_samples;
    memory_bytes += other.memory_bytes;
    disk_samples += other.disk_samples;
    disk_bytes += other.disk_bytes;
    peer_samples += other.peer_samples;
    peer_bytes += other.peer_bytes;
    return *this;
  }
  bool operator==(const LevelCounts&) const = default;
};

/// Any thread may count. Samples that are read while take() runs may be in this or the next result.
class LevelCounter {
 public:
  void count_from_copy(std::int64_t bytes) { copy_.add(1, bytes); }
  void count_from_source(std::int64_t bytes, std::int64_t samples = 1) {
    source_.add(samples, bytes);
  }
  void count_repaired() { repaired_samples_.fetch_add(1, std::memory_order_relaxed); }
  void count_from_memory(std::int64_t bytes) { memory_.add(1, bytes); }
  void count_from_disk(std::int64_t bytes) { disk_.add(1, bytes); }
  void count_from_peer(std::int64_t bytes) { peer_.add(1, bytes); }
  /// Since the last call.
  LevelCounts take() {
    LevelCounts counts;
    copy_.take_into(counts.copy_samples, counts.copy_bytes);
    source_.take_into(counts.source_samples, counts.source_bytes);
    counts.repaired_samples = repaired_samples_.exchange(0);
    memory_.take_into(counts.memory_samples, counts.memory_bytes);
    disk_.take_into(counts.disk_samples, counts.disk_bytes);
    peer_.take_into(counts.peer_samples, counts.peer_bytes);
    return counts;
  }

 private:
  struct Level {
    std::atomic<std::int64_t> samples{0}, bytes{0};

    void add(std::int64_t more_samples, std::int64_t more_bytes) {
      samples.fetch_add(more_samples, std::memory_order_relaxed);
      bytes.fetch_add(more_bytes, std::memory_order_relaxed);
    }
    void take_into(std::int64_t& taken_samples, std::int64_t& taken_bytes) {
      taken_samples = samples.exchange(0);
      taken_bytes = bytes.exchange(0);
    }
  };
  Level copy_, source_, memory_, disk_, peer_;
  std::atomic<std::int64_t> repaired_samples_{0};
};

}  // namespace staging

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

  LevelCounts& operator+=(const LevelCounts& other) {
    copy_samples += other.copy_samples;
    copy_bytes += other.copy_bytes;
    source_samples += other.source_samples;
    source_bytes += other.source_bytes;
    repaired_samples += other.repaired_samples;
    return *this;
  }
  bool operator==(const LevelCounts&) const = default;
};

/// Any thread may count. Samples that are read while take() runs may be in this or the next result.
class LevelCounter {
 public:
  void count_from_copy(std::int64_t bytes) { add(copy_samples_, 1, copy_bytes_, bytes); }
  void count_from_source(std::int64_t bytes, std::int64_t samples = 1) {
    add(source_samples_, samples, source_bytes_, bytes);
  }
  void count_repaired() { repaired_samples_.fetch_add(1, std::memory_order_relaxed); }
  /// Since the last call.
  LevelCounts take() {
    return {copy_samples_.exchange(0), copy_bytes_.exchange(0), source_samples_.exchange(0),
            source_bytes_.exchange(0), repaired_samples_.exchange(0)};
  }

 private:
  static void add(std::atomic<std::int64_t>& all_samples, std::int64_t samples,
                  std::atomic<std::int64_t>& all_bytes, std::int64_t bytes) {
    all_samples.fetch_add(samples, std::memory_order_relaxed);
    all_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  std::atomic<std::int64_t> copy_samples_{0}, copy_bytes_{0}, source_samples_{0}, source_bytes_{0},
      repaired_samples_{0};
};

}  // namespace staging

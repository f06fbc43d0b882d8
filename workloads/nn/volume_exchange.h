// The door to the ranks that have the other parts of the same volumes.
// Hides who they are and how parts travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

namespace nn {

/// A volume is cut into parts of equal size along depth and height; this rank's is part
/// (depth, height).
struct VolumePart {
  std::int64_t depth_parts = 1, height_parts = 1;
  std::int64_t depth = 0, height = 0;
  std::int64_t count() const { return depth_parts * height_parts; }
  std::int64_t number() const { return depth * height_parts + height; }
  /// Whether there is a part beyond that edge.
  bool has_before(bool along_depth) const { return (along_depth ? depth : height) > 0; }
  bool has_behind(bool along_depth) const {
    return along_depth ? depth + 1 < depth_parts : height + 1 < height_parts;
  }
};

/// A part in memory: [depth + 2, height + 2, width + 2] points of so many bytes, with its margin.
struct StoredVolume {
  void* first = nullptr;
  std::int64_t depth = 0, height = 0, width = 0;  ///< without margin
  std::int64_t point_bytes = 0;
};

/// Every call is collective among the ranks that share samples, and comes in the same order on all.
class VolumeExchange {
 public:
  virtual ~VolumeExchange() = default;
  virtual const VolumePart& part() const = 0;
  /// Begins to fill the margin with what neighbours have there. Where there is none, it stays.
  virtual void begin_fill(const StoredVolume& volume) = 0;
  /// Waits for the oldest that is not finished.
  virtual void finish_fill() = 0;
  /// Begins to give the margin's gradients, floats, to the neighbours whose points they are.
  virtual void begin_return(const StoredVolume& volume) = 0;
  /// Waits for the oldest that is not finished, and adds what neighbours gave.
  virtual void finish_return() = 0;
  /// Lets what is under way go on; from the thread that began it.
  virtual void poll() = 0;
  /// mine of every rank, by number of part; as many bytes on each.
  virtual void gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
};

/// Polls from within a parallel region, which no exception may leave.
class RegionPoll {
 public:
  /// `exchange` may be null: then nothing is done.
  explicit RegionPoll(VolumeExchange* exchange) : exchange_(exchange) {}
  /// Does nothing after a failure.
  void poll() noexcept {
    if (exchange_ == nullptr) return;
    try {
      exchange_->poll();
    } catch (...) {
      failure_ = std::current_exception();
      exchange_ = nullptr;
    }
  }
  /// Behind the region: throws what poll() met.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  VolumeExchange* exchange_;
  std::exception_ptr failure_;
};

}  // namespace nn

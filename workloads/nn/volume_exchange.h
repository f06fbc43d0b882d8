// The interface to the ranks that have the other parts of the same volumes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

namespace nn {

/// A volume is cut into parts of equal size along depth and height; this rank has part (depth,
/// height).
struct VolumePart {
  std::int64_t depth_parts = 1, height_parts = 1;
  std::int64_t depth = 0, height = 0;
  std::int64_t count() const { return depth_parts * height_parts; }
  std::int64_t number() const { return depth * height_parts + height; }
  /// Whether there is a part next to this one, before or after it along that axis.
  bool has_before(bool along_depth) const { return (along_depth ? depth : height) > 0; }
  bool has_behind(bool along_depth) const {
    return along_depth ? depth + 1 < depth_parts : height + 1 < height_parts;
  }
};

/// A part in memory, with its margin: [depth + 2, height + 2, width + 2] voxels of `point_bytes`.
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
  /// Begins to fill the margin with the neighbours' voxels. Sides without a neighbour stay as they
  /// are.
  virtual void begin_fill(const StoredVolume& volume) = 0;
  /// Waits for the oldest unfinished begin_fill().
  virtual void finish_fill() = 0;
  /// Begins to send the margin's gradients, floats, to the neighbours that own these voxels.
  virtual void begin_return(const StoredVolume& volume) = 0;
  /// Waits for the oldest unfinished begin_return(), and adds the gradients that neighbours sent.
  virtual void finish_return() = 0;
  /// Makes progress on pending exchanges; to be called by the thread that began them.
  virtual void poll() = 0;
  /// `all` receives `mine` of every rank, in the order of VolumePart::number(); sizes are equal.
  virtual void gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
};

/// Polls within a parallel region, which no exception may leave.
class RegionPoll {
 public:
  /// `exchange` may be null: then poll() does nothing.
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
  /// To be called after the region: throws what poll() caught.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  VolumeExchange* exchange_;
  std::exception_ptr failure_;
};

}  // namespace nn

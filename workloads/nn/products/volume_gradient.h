// Weights gradients of volume convolutions.
// Hides how threads share the work, and how many voxels are summed in float.
#pragma once

#include <cstdint>
#include <functional>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/volume_kernels.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/volume_exchange.h"

namespace nn {

/// Each thread has output channels of its own, 16 at a time; if there are more threads than such
/// blocks, also a share of the planes. The bits are the same for the same number of threads. T:
/// type of activations.
template <class T>
class VolumeGradient {
 public:
  void plan(Planner& planner, const Volume& volume, std::int64_t batch);
  void bind(const Arena& arena, const Kernels& kernels);
  using CallOf = std::function<VolumeBackward<T>(std::int64_t sample)>;
  /// Writes weights, laid out as volume_weights_desc() says, and biases [out]. The first thread
  /// polls `under_way` at every strip of rows.
  void run(const Samples& samples, const CallOf& call_of, float* weights, float* biases,
           RegionPoll& under_way) const;
  /// Memory that the calling thread's kernels work in, within a parallel region.
  float* scratch() const;

 private:
  std::int64_t planes() const { return volume_.depth / 2; }
  std::int64_t block_floats() const {
    return Volume::kBlock * (volume_.backward_weight_floats() + 1);
  }
  /// Running sums, followed by the sums of one flush.
  float* sums_of(std::int64_t block, std::int64_t part) const {
    return sums_ + (part * volume_.out_blocks() + block) * 2 * block_floats();
  }
  std::int64_t plane_flushes() const { return base::ceil_div(planes(), flush_planes_); }
  std::int64_t row_flushes() const { return base::ceil_div(volume_.height / 2, flush_rows_); }
  void add_part(std::int64_t block, std::int64_t part, const Samples& samples,
                const CallOf& call_of, RegionPoll& under_way) const;

  Volume volume_;
  std::int64_t parts_ = 1;  ///< parts that planes are divided into
  /// Pooled planes and rows that one float sums up before a flush: rows of one plane, or all rows
  /// of several planes.
  std::int64_t flush_planes_ = 1, flush_rows_ = 1;
  BufferId sums_buffer_ = -1, scratch_buffer_ = -1;
  float* sums_ = nullptr;
  float* scratch_ = nullptr;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn

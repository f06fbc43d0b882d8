// Sums weights gradients of volume convolutions.
#include "workloads/nn/products/volume_gradient.h"

#include <omp.h>

#include <algorithm>
#include <type_traits>

#include "runner/base/ceil_div.h"
#include "workloads/nn/products/volume_weights.h"

namespace nn {

template <class T>
void VolumeGradient<T>::plan(Planner& planner, const Volume& volume, std::int64_t batch) {
  constexpr std::int64_t kFlushPoints = 512;  // pooled voxels that a float may sum
  volume_ = volume;
  const auto temporary = [&](std::int64_t floats, const char* purpose) {
    return planner.temporary(floats * static_cast<std::int64_t>(sizeof(float)),
                             planner.backward_moment(), purpose);
  };
  flush_planes_ = std::max<std::int64_t>(1, kFlushPoints * planes() / volume_.pooled_points());
  const std::int64_t rows = volume.height / 2, strip = strip_rows(volume);
  const std::int64_t strips = std::max<std::int64_t>(1, 2 * kFlushPoints / volume.width / strip);
  flush_rows_ = std::min(rows, strips * strip);
  const std::int64_t units = batch * plane_flushes() * row_flushes();
  const std::int64_t blocks = volume_.out_blocks();
  parts_ = std::clamp<std::int64_t>(base::ceil_div(planner.threads(), blocks), 1, units);
  sums_buffer_ = temporary(parts_ * blocks * 2 * block_floats(), "sums of gradients");
  scratch_buffer_ = temporary(planner.threads() * VolumeKernels::kScratchFloats, "windows");
}

template <class T>
void VolumeGradient<T>::bind(const Arena& arena, const Kernels& kernels) {
  sums_ = arena.at(sums_buffer_);
  scratch_ = arena.at(scratch_buffer_);
  kernels_ = &kernels;
}

template <class T>
float* VolumeGradient<T>::scratch() const {
  return scratch_ + omp_get_thread_num() * VolumeKernels::kScratchFloats;
}

/// Sums the part's share of all samples' planes; adds to the running sums after every flush_planes_
/// planes and flush_rows_ rows.
template <class T>
void VolumeGradient<T>::add_part(std::int64_t block, std::int64_t part, const Samples& samples,
                                 const CallOf& call_of, RegionPoll& under_way) const {
  float* const sums = sums_of(block, part);
  float* const flush = sums + block_floats();
  float* const biases = flush + Volume::kBlock * volume_.backward_weight_floats();
  std::fill_n(sums, block_floats(), 0.0F);
  const std::int64_t flushes = plane_flushes() * row_flushes();
  const std::int64_t units = samples.count * flushes, strip = strip_rows(volume_);
  for (std::int64_t unit = part * units / parts_; unit < (part + 1) * units / parts_; ++unit) {
    const VolumeBackward<T> call = call_of(samples.first + unit / flushes);
    std::fill_n(flush, block_floats(), 0.0F);
    const std::int64_t first = unit % flushes / row_flushes() * flush_planes_;
    const std::int64_t first_row = unit % row_flushes() * flush_rows_;
    const std::int64_t last_row = std::min(first_row + flush_rows_, volume_.height / 2);
    for (std::int64_t plane = first; plane < std::min(first + flush_planes_, planes()); ++plane) {
      for (std::int64_t row = first_row; row < last_row; row += strip) {
        if (omp_get_thread_num() == 0) under_way.poll();
        if constexpr (std::is_same_v<T, float>) {
          kernels_->volumes.weights_gradient_f32(call, {plane, row}, block, flush, biases,
                                                 scratch());
        } else {
          kernels_->volumes.weights_gradient_bf16(call, {plane, row}, block, flush, biases,
                                                  scratch());
        }
      }
    }
    kernels_->f32.accumulate(sums, flush, block_floats());
  }
}

template <class T>
void VolumeGradient<T>::run(const Samples& samples, const CallOf& call_of, float* weights,
                            float* biases, RegionPoll& under_way) const {
  const std::int64_t blocks = volume_.out_blocks();
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t item = 0; item < parts_ * blocks; ++item) {
    add_part(item % blocks, item / blocks, samples, call_of, under_way);
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    float* const sums = sums_of(block, 0);
    for (std::int64_t part = 1; part < parts_; ++part) {
      kernels_->f32.accumulate(sums, sums_of(block, part), block_floats());
    }
    transpose_gradient_back(volume_, block, sums, kernels_->weight_tiles, weights);
    std::copy_n(sums + Volume::kBlock * volume_.backward_weight_floats(), Volume::kBlock,
                biases + block * Volume::kBlock);
  }
}

template class VolumeGradient<float>;
template class VolumeGradient<Bf16>;

}  // namespace nn

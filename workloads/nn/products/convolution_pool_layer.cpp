// Convolution, bias, LeakyReLU and 2 x 2 x 2 max pooling of volumes as one layer.
// Threads share rows of pooled voxels forward; output channels for weights gradients, and planes if
// there are more threads; planes for source gradients, even ones before odd ones, as neighbouring
// planes write the same voxels.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "workloads/kernels/volume_kernels.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/products/make_layers.h"
#include "workloads/nn/products/volume_gradient.h"
#include "workloads/nn/products/volume_weights.h"

namespace nn {
namespace {

using dnnl::memory;

/// Calls body(item) for all items, which threads take one by one. Meanwhile the first thread polls
/// `exchange`, unless it is null.
template <class Body>
void share_out(std::int64_t items, const Body& body, VolumeExchange* exchange = nullptr) {
  RegionPoll under_way(exchange);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t item = 0; item < items; ++item) {
    if (omp_get_thread_num() == 0) under_way.poll();
    body(item);
  }
  under_way.rethrow();
}

template <class T>
class ConvolutionPoolLayer final : public Layer {
 public:
  ConvolutionPoolLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  std::string implementation() const override { return "volume"; }
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;

 private:
  std::int64_t planes() const { return volume_.depth / 2; }
  std::int64_t rows() const { return volume_.height / 2; }
  /// Whether a row of pooled voxels reads voxels of another rank.
  bool needs_margin(std::int64_t plane, std::int64_t row) const;
  std::int64_t source_values() const { return volume_.source_points() * volume_.in; }
  StoredVolume stored(void* first, std::int64_t sample, std::int64_t value_bytes) const;
  void forward_rows(const VolumeForward<T>& call, const std::vector<PooledRow>& rows) const;
  VolumeForward<T> forward_call(Mode mode, std::int64_t sample, const Samples& samples) const;
  void clear_margin(T* sample) const;
  template <class Value>
  VolumeBackward<Value> backward_call(std::int64_t sample) const;
  void backward_weights(bool accumulate, const Samples& samples);
  void backward_source(const Samples& samples);

  const Operation operation_;
  const VolumeKernels& kernels_;
  const WeightTiles& tiles_;
  const Kernels& all_kernels_;
  const std::int64_t batch_;
  const bool has_source_gradient_;
  Volume volume_;
  const bool widens_;            ///< whether bfloat16 values are widened and multiplied as floats
  std::int64_t dst_margin_ = 0;  ///< voxels
  ValuePlace src_place_, dst_place_;
  BufferId choice_buffer_ = -1, packed_buffer_ = -1, widened_buffer_ = -1, turned_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  VolumeGradient<T> gradient_;
  GradientTarget weights_target_, bias_target_;
  const T* src_ = nullptr;
  void* dst_ = nullptr;
  PoolChoice* choice_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  Bf16* packed_ = nullptr;
  float* widened_ = nullptr;  ///< [threads][widened_floats]
  float* transposed_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
  VolumeExchange* exchange_ = nullptr;
  std::vector<PooledRow> inner_rows_, border_rows_;  ///< rows without and with needs_margin()
};

Volume volume_of(const Operation& operation, const SampleShape& src) {
  const std::vector<std::int64_t>& extents = src.spatial;
  return {extents[0], extents[1], extents[2], src.channels,
          operation.dst.spatial.empty() ? operation.dst.channels * 8 / src.spatial_size()
                                        : operation.dst.channels};
}

/// The destination is float if it is a vector or becomes part of one.
memory::data_type given_type(const Operation& operation, const Planner& planner) {
  return operation.gives_floats ? memory::data_type::f32 : planner.value_type();
}

template <class T>
ConvolutionPoolLayer<T>::ConvolutionPoolLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels().volumes),
      tiles_(planner.kernels().weight_tiles),
      all_kernels_(planner.kernels()),
      batch_(planner.batch()),
      has_source_gradient_(planner.network().has_gradient(operation.src)),
      volume_(volume_of(operation, planner.network().shape(operation.src))),
      widens_(planner.precision() == Precision::kBf16 &&
              planner.products().own() == Products::kFloats),
      dst_margin_(operation.dst.margin) {
  if (volume_.is_narrow() && has_source_gradient_) {
    throw base::ShapeError(operation.name +
                           ": the source gradient of a narrow volume is not supported");
  }
  if (planner.precision() == Precision::kBf16 && volume_.in % 2 != 0) {
    throw base::ShapeError(operation.name + ": bf16 takes an even number of source channels, got " +
                           std::to_string(volume_.in));
  }
  planner.use_value(operation.src, true);
  const memory::dims dims = batch_dims(batch_, operation.dst);
  planner.define_value(operation.dst.spatial.empty()
                           ? plain_desc(dims)
                           : channels_last_desc(dims, given_type(operation, planner)));
  planner.set_parameter_desc(operation.weights, volume_weights_desc(volume_));
  planner.set_parameter_desc(operation.bias, plain_desc({volume_.out}));
  src_place_ = planner.value_place(operation.src);
  dst_place_ = planner.value_place(planner.made());
  if (planner.training()) {
    choice_buffer_ = planner.kept(batch_ * volume_.pooled_points() * volume_.out, "pool choices");
  }
  if (widens_) {
    widened_buffer_ = planner.temporary(planner.threads() * volume_.widened_floats() * kFloatBytes,
                                        planner.forward_moment(), "widened sources");
  } else if (planner.precision() == Precision::kBf16) {
    packed_buffer_ =
        planner.temporary(Volume::kTaps * volume_.in * volume_.out * 2,  // bytes of a bfloat16
                          planner.forward_moment(), "weights in other layouts");
  }
}

template <class T>
void ConvolutionPoolLayer<T>::plan_backward(Planner& planner) {
  const int moment = planner.backward_moment();
  gradient_.plan(planner, volume_, batch_);
  diff_dst_buffer_ = planner.incoming().front();
  weights_target_.plan(planner, Volume::kTaps * volume_.in * volume_.out * kFloatBytes);
  bias_target_.plan(planner, volume_.out * kFloatBytes);
  if (!has_source_gradient_) return;
  turned_buffer_ = planner.temporary(volume_.out * volume_.backward_weight_floats() * kFloatBytes,
                                     moment, "weights in other layouts");
  // Float at any precision, as elements are sums of many parts.
  diff_src_buffer_ = planner.contribute(operation_.src, batch_ * source_values() * kFloatBytes);
}

template <class T>
void ConvolutionPoolLayer<T>::bind(const Arena& arena) {
  src_ = arena.at<const T>(src_place_.buffer);
  dst_ = arena.at<void>(dst_place_.buffer);
  choice_ = arena.at<PoolChoice>(choice_buffer_);
  packed_ = arena.at<Bf16>(packed_buffer_);
  widened_ = arena.at(widened_buffer_);
  weights_ = arena.parameters.weights(operation_.weights);
  bias_ = arena.parameters.weights(operation_.bias);
  exchange_ = operation_.is_part ? arena.volumes : nullptr;
  if (operation_.is_part && exchange_ == nullptr) {
    throw base::Error(base::ExitCode::kInternal,
                      operation_.name + ": a part without the ranks that have the others");
  }
  for (std::int64_t plane = 0; plane < planes(); ++plane) {
    for (std::int64_t row = 0; row < rows(); ++row) {
      (needs_margin(plane, row) ? border_rows_ : inner_rows_).push_back({plane, row});
    }
  }
  if (diff_dst_buffer_ < 0) return;
  transposed_ = arena.at(turned_buffer_);
  gradient_.bind(arena, all_kernels_);
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_src_ = arena.at(diff_src_buffer_);
  weights_target_.bind(arena, operation_.weights, all_kernels_);
  bias_target_.bind(arena, operation_.bias, all_kernels_);
}

template <class T>
VolumeForward<T> ConvolutionPoolLayer<T>::forward_call(Mode mode, std::int64_t sample,
                                                       const Samples& samples) const {
  VolumeForward<T> call;
  call.volume = volume_;
  call.src = src_ + src_place_.row_of(sample, samples) * source_values();
  if constexpr (std::is_same_v<T, float>) {
    call.weights = weights_;
  } else {
    call.weights = packed_;
    call.float_weights = weights_;
  }
  call.bias = bias_;
  call.slope = static_cast<float>(operation_.slope);
  const std::int64_t row = volume_.width / 2 + 2 * dst_margin_;
  const std::int64_t plane = (rows() + 2 * dst_margin_) * row;
  const std::int64_t first = dst_margin_ * (plane + row + 1) * volume_.out;
  const std::int64_t dst_sample = dst_place_.row_of(sample, samples);
  if (operation_.gives_floats) {
    float* const dst =
        static_cast<float*>(dst_) + dst_sample * volume_.pooled_points() * volume_.out;
    call.floats = {dst, row, plane};
  } else {
    T* const dst =
        static_cast<T*>(dst_) + dst_sample * (planes() + 2 * dst_margin_) * plane * volume_.out;
    call.dst = {dst + first, row, plane};
  }
  if (mode != Mode::kInference) {
    call.choice = choice_ + sample * volume_.pooled_points() * volume_.out;
  }
  return call;
}

/// Zeroes the margin of the destination: voxels outside the volume are 0.
template <class T>
void ConvolutionPoolLayer<T>::clear_margin(T* sample) const {
  const std::int64_t row = (volume_.width / 2 + 2) * volume_.out;
  const std::int64_t stored_rows = rows() + 2, stored_planes = planes() + 2;
  const auto clear = [](T* from, std::int64_t count) {
    std::memset(from, 0, static_cast<std::size_t>(count) * sizeof(T));
  };
  share_out(stored_planes, [&](std::int64_t plane) {
    T* const first = sample + plane * stored_rows * row;
    if (plane == 0 || plane == stored_planes - 1) return clear(first, stored_rows * row);
    clear(first, row);
    clear(first + (stored_rows - 1) * row, row);
    for (std::int64_t i = 1; i < stored_rows - 1; ++i) {
      clear(first + i * row, volume_.out);
      clear(first + (i + 1) * row - volume_.out, volume_.out);
    }
  });
}

template <class T>
bool ConvolutionPoolLayer<T>::needs_margin(std::int64_t plane, std::int64_t row) const {
  if (exchange_ == nullptr) return false;
  const VolumePart& part = exchange_->part();
  return (plane == 0 && part.has_before(true)) ||
         (plane == planes() - 1 && part.has_behind(true)) || (row == 0 && part.has_before(false)) ||
         (row == rows() - 1 && part.has_behind(false));
}

template <class T>
StoredVolume ConvolutionPoolLayer<T>::stored(void* first, std::int64_t sample,
                                             std::int64_t value_bytes) const {
  return {static_cast<std::byte*>(first) + sample * source_values() * value_bytes, volume_.depth,
          volume_.height, volume_.width, volume_.in * value_bytes};
}

template <class T>
void ConvolutionPoolLayer<T>::forward_rows(const VolumeForward<T>& call,
                                           const std::vector<PooledRow>& rows) const {
  constexpr std::int64_t kBlocks = 2;  // blocks of 16 channels that kernels take at a time
  const std::int64_t pairs = base::ceil_div(volume_.out_blocks(), kBlocks);
  // Rows of a plane follow each other with the same weights.
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t group = std::max<std::int64_t>(1, count / planes());
  const std::int64_t groups = base::ceil_div(count, group);
  share_out(
      groups * pairs * group,
      [&](std::int64_t item) {
        const std::int64_t at = item / group / pairs * group + item % group;
        if (at >= count) return;
        const std::int64_t block = item / group % pairs * kBlocks;
        const std::int64_t blocks = std::min(kBlocks, volume_.out_blocks() - block);
        const PooledRow& row = rows[static_cast<std::size_t>(at)];
        if constexpr (std::is_same_v<T, float>) {
          kernels_.forward_f32(call, row, block, blocks);
        } else if (widens_) {
          kernels_.forward_widened(call, row, block, blocks,
                                   widened_ + omp_get_thread_num() * volume_.widened_floats());
        } else {
          kernels_.forward_bf16(call, row, block, blocks);
        }
      },
      exchange_);
}

/// Margins of all samples are exchanged while the rows that need none are computed.
template <class T>
void ConvolutionPoolLayer<T>::forward(Mode mode, const Samples& samples) {
  if constexpr (!std::is_same_v<T, float>) {
    if (!widens_) pack_pairs(volume_, weights_, tiles_, packed_);
  }
  const std::int64_t end = samples.first + samples.count;
  for (std::int64_t sample = samples.first; exchange_ != nullptr && sample < end; ++sample) {
    exchange_->begin_fill(stored(const_cast<T*>(src_), src_place_.row_of(sample, samples),
                                 static_cast<std::int64_t>(sizeof(T))));
  }
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    const VolumeForward<T> call = forward_call(mode, sample, samples);
    if (dst_margin_ > 0) {
      clear_margin(static_cast<T*>(dst_) + dst_place_.row_of(sample, samples) * (planes() + 2) *
                                               call.dst.plane * volume_.out);
    }
    forward_rows(call, inner_rows_);
    if (exchange_ == nullptr) continue;
    exchange_->finish_fill();
    forward_rows(call, border_rows_);
  }
}

template <class T>
template <class Value>
VolumeBackward<Value> ConvolutionPoolLayer<T>::backward_call(std::int64_t sample) const {
  VolumeBackward<Value> call;
  call.volume = volume_;
  if constexpr (std::is_same_v<T, Value>) call.src = src_ + sample * source_values();
  const std::int64_t row = volume_.width / 2 + 2 * dst_margin_;
  const std::int64_t plane = (rows() + 2 * dst_margin_) * row;
  const std::int64_t stored = (planes() + 2 * dst_margin_) * plane * volume_.out;
  call.diff_dst = {diff_dst_ + sample * stored + dst_margin_ * (plane + row + 1) * volume_.out, row,
                   plane};
  call.choice = choice_ + sample * volume_.pooled_points() * volume_.out;
  call.slope = static_cast<float>(operation_.slope);
  return call;
}

template <class T>
void ConvolutionPoolLayer<T>::backward_weights(bool accumulate, const Samples& samples) {
  RegionPoll under_way(exchange_);
  gradient_.run(
      samples, [this](std::int64_t sample) { return backward_call<T>(sample); },
      weights_target_.begin(accumulate), bias_target_.begin(accumulate), under_way);
  under_way.rethrow();
  weights_target_.finish(accumulate);
  bias_target_.finish(accumulate);
}

template <class T>
void ConvolutionPoolLayer<T>::backward_source(const Samples& samples) {
  transpose_weights(volume_, weights_, tiles_, transposed_);
  const std::int64_t blocks = volume_.in_blocks(), strip = strip_rows(volume_);
  const std::int64_t plane_values = volume_.plane_points() * volume_.in;
  share_out(samples.count * (volume_.depth + 2), [&](std::int64_t item) {
    std::fill_n(diff_src_ + samples.first * source_values() + item * plane_values, plane_values,
                0.0F);
  });
  for (const std::int64_t parity : {0, 1}) {
    const std::int64_t count = (planes() + 1 - parity) / 2;
    share_out(samples.count * count * blocks, [&](std::int64_t item) {
      const std::int64_t sample = samples.first + item / blocks / count;
      const std::int64_t plane = item / blocks % count * 2 + parity;
      const VolumeBackward<float> call = backward_call<float>(sample);
      for (std::int64_t row = 0; row < rows(); row += strip) {
        kernels_.source_gradient(call, {plane, row}, item % blocks, transposed_,
                                 diff_src_ + sample * source_values(), gradient_.scratch());
      }
    });
  }
}

/// The gradients that neighbours add to theirs travel while the weights' gradients are computed.
template <class T>
void ConvolutionPoolLayer<T>::backward(bool accumulate, const Samples& samples) {
  const bool returns = has_source_gradient_ && exchange_ != nullptr;
  if (has_source_gradient_) backward_source(samples);
  for (std::int64_t i = 0; returns && i < samples.count; ++i) {
    exchange_->begin_return(stored(diff_src_, samples.first + i, kFloatBytes));
  }
  backward_weights(accumulate || samples.first > 0, samples);
  for (std::int64_t i = 0; returns && i < samples.count; ++i) exchange_->finish_return();
}

}  // namespace

std::unique_ptr<Layer> make_convolution_pool(const Operation& operation, Planner& planner) {
  if (planner.precision() == Precision::kBf16) {
    return std::make_unique<ConvolutionPoolLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<ConvolutionPoolLayer<float>>(operation, planner);
}

}  // namespace nn

// Depthwise convolutions with 3 x 3 taps, by this project's kernels.
// Threads share samples, blocks of channels and rows; sums have a fixed order.
#include <algorithm>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/nn/products/make_layers.h"

namespace nn {
namespace {

/// Weights [C, 1, 3, 3] as [C / width][3][3][width], zeros beyond the last channel.
dnnl::memory::desc lane_major(const std::vector<std::int64_t>& shape, int width) {
  using Tag = dnnl::memory::format_tag;
  if (width == 1) return plain_desc(shape);
  return {shape, dnnl::memory::data_type::f32, width == 8 ? Tag::Abcd8a : Tag::Abcd16a};
}

template <class T>
class DepthwiseLayer final : public Layer {
 public:
  DepthwiseLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  std::string implementation() const override { return "depthwise"; }
  void forward(Mode /*mode*/, const Samples& samples) override {
    convolve(samples, src_forward_, src_place_, dst_forward_, dst_place_);
  }
  void recompute(const Samples& samples) override {
    convolve(samples, src_again_, src_place_again_, dst_again_, dst_place_again_);
  }
  void backward(bool accumulate, const Samples& samples) override;

 private:
  /// Destination rows of a piece, which one thread computes and whose weights gradient is summed
  /// separately: independent of the number of threads, and few, so that many threads have work.
  /// Pieces of all channels have fewer, times the dilation, as rows that share source rows lie that
  /// far apart.
  static constexpr std::int64_t kRowsOfBlock = 16, kRowsOfAll = 4;
  std::int64_t piece_rows() const {
    return is_wide_ ? kRowsOfAll * operation_.dilation[0] : kRowsOfBlock;
  }
  static constexpr std::int64_t kSums = DepthwisePlane::kTaps * DepthwisePlane::kBlock;

  /// Calls body(sample, block, piece) for all pieces of all blocks, or of block 0 alone if
  /// is_wide_.
  template <class Body>
  void for_each_piece(const Samples& samples, const Body& body) const;
  /// `written`: elements that a call for one slice writes.
  DepthwisePlane plane_of(std::int64_t block, std::int64_t written) const;
  DepthwisePlane plane_of_all(std::int64_t written) const;
  std::int64_t pieces() const { return base::ceil_div(operation_.dst.spatial[0], piece_rows()); }
  RowRange rows_of(std::int64_t piece) const {
    return {piece * piece_rows(), std::min((piece + 1) * piece_rows(), operation_.dst.spatial[0])};
  }
  std::int64_t weights_floats() const { return DepthwisePlane::kTaps * src_layout_.width; }
  const float* weights_of(std::int64_t block) const { return weights_ + block * weights_floats(); }
  void convolve(const Samples& samples, const T* src, const ValuePlace& src_place, T* dst,
                const ValuePlace& dst_place) const;
  void find_gradients(const Samples& samples, std::int64_t sample, std::int64_t block,
                      const RowRange& rows, double* sums) const;
  void find_all_gradients(const Samples& samples, std::int64_t sample, const RowRange& rows,
                          double* sums) const;
  void add_sums(std::int64_t parts, bool accumulate);

  const Operation operation_;
  const DepthwiseKernels<T>& kernels_;
  const Kernels& all_kernels_;
  const SampleShape src_shape_;
  const ChannelLayout src_layout_, dst_layout_;
  const bool first_;
  const bool is_wide_;  ///< whether kernels take all channels of a pixel together
  ValuePlace src_place_, dst_place_, src_place_again_, dst_place_again_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1, sums_buffer_ = -1;
  GradientTarget target_;
  const float* weights_ = nullptr;
  const T* src_forward_ = nullptr;
  const T* src_again_ = nullptr;
  T* dst_forward_ = nullptr;
  T* dst_again_ = nullptr;
  const T* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
  double* sums_ = nullptr;  ///< [samples of a slice][pieces][blocks][9][16]
};

template <class T>
DepthwiseLayer<T>::DepthwiseLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels().depthwise<T>()),
      all_kernels_(planner.kernels()),
      src_shape_(planner.network().shape(operation.src)),
      src_layout_(channel_layout(planner.value_desc(operation.src))),
      dst_layout_(channel_layout(like(planner.value_desc(operation.src), operation.dst))),
      first_(!planner.network().has_gradient(operation.src)),
      is_wide_(src_layout_.is_last() && !first_ && plane_of_all(0).is_wide()) {
  planner.use_value(operation.src, true);
  planner.define_value(like(planner.value_desc(operation.src), operation.dst));
  const auto& weights = planner.network().parameters()[static_cast<std::size_t>(operation.weights)];
  planner.set_parameter_desc(operation.weights, lane_major(weights.shape, src_layout_.width));
  src_place_ = planner.value_place(operation.src);
  dst_place_ = planner.value_place(planner.made());
  src_place_again_ = planner.recomputed_value(operation.src);
  dst_place_again_ = planner.recomputed_value(planner.made());
}

template <class T>
void DepthwiseLayer<T>::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  const std::int64_t slice = planner.backward_slices().sizes().back();
  sums_buffer_ = planner.temporary(
      slice * pieces() * src_layout_.blocks * kSums * static_cast<std::int64_t>(sizeof(double)),
      planner.backward_moment(), "sums of gradients");
  target_.plan(planner,
               src_layout_.blocks * weights_floats() * static_cast<std::int64_t>(sizeof(float)));
  if (!first_) diff_src_buffer_ = planner.contribute(operation_.src);
}

template <class T>
void DepthwiseLayer<T>::bind(const Arena& arena) {
  weights_ = arena.parameters.weights(operation_.weights);
  src_forward_ = arena.at<T>(src_place_.buffer);
  src_again_ = arena.at<T>(src_place_again_.buffer);
  dst_forward_ = arena.at<T>(dst_place_.buffer);
  dst_again_ = arena.at<T>(dst_place_again_.buffer);
  diff_dst_ = arena.at<T>(diff_dst_buffer_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  sums_ = arena.at<double>(sums_buffer_);
  target_.bind(arena, operation_.weights, all_kernels_);
}

template <class T>
DepthwisePlane DepthwiseLayer<T>::plane_of(std::int64_t block, std::int64_t written) const {
  DepthwisePlane plane;
  plane.height = src_shape_.spatial[0];
  plane.width = src_shape_.spatial[1];
  plane.stride = operation_.stride[0];
  plane.dilation = operation_.dilation[0];
  plane.src_step = src_layout_.row_stride;
  plane.dst_step = dst_layout_.row_stride;
  plane.channels = src_layout_.column(block).width;
  plane.weights_step = src_layout_.width;
  plane.stores = stores_of<T>(written, all_kernels_.has_tiles());
  return plane;
}

template <class T>
DepthwisePlane DepthwiseLayer<T>::plane_of_all(std::int64_t written) const {
  DepthwisePlane plane = plane_of(0, written);
  plane.channels = static_cast<int>(src_layout_.channels);
  return plane;
}

template <class T>
template <class Body>
void DepthwiseLayer<T>::for_each_piece(const Samples& samples, const Body& body) const {
  const std::int64_t end = samples.first + samples.count;
  const std::int64_t blocks = is_wide_ ? 1 : src_layout_.blocks;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t piece = 0; piece < pieces(); ++piece) body(sample, block, piece);
    }
  }
}

template <class T>
void DepthwiseLayer<T>::convolve(const Samples& samples, const T* src, const ValuePlace& src_place,
                                 T* dst, const ValuePlace& dst_place) const {
  const std::int64_t written = samples.count * dst_layout_.sample_elements();
  const auto run = is_wide_ ? kernels_.wide_forward : kernels_.forward;
  for_each_piece(samples, [&](std::int64_t sample, std::int64_t block, std::int64_t piece) {
    run(src + src_layout_.offset(src_place.row_of(sample, samples), block), weights_of(block),
        dst + dst_layout_.offset(dst_place.row_of(sample, samples), block),
        is_wide_ ? plane_of_all(written) : plane_of(block, written), rows_of(piece));
  });
}

/// Computes both gradients of some destination rows while these rows' gradient is in the cache:
/// sums += that of the weights.
template <class T>
void DepthwiseLayer<T>::find_gradients(const Samples& samples, std::int64_t sample,
                                       std::int64_t block, const RowRange& rows,
                                       double* sums) const {
  const DepthwisePlane plane = plane_of(block, samples.count * src_layout_.sample_elements());
  const T* const src =
      src_again_ + src_layout_.offset(src_place_again_.row_of(sample, samples), block);
  const T* const diff_dst = diff_dst_ + dst_layout_.offset(sample, block);
  T* const diff_src = first_ ? nullptr : diff_src_ + src_layout_.offset(sample, block);
  if (plane.stride == 1) {
    return kernels_.gradients(src, diff_dst, weights_of(block), diff_src, plane, rows, sums);
  }
  kernels_.weights_gradient(src, diff_dst, plane, rows, sums);
  if (first_) return;
  const bool is_last = rows.end == plane.dst_height();
  const RowRange sources = {rows.first * plane.stride,
                            is_last ? plane.height : rows.end * plane.stride};
  kernels_.source_gradient(diff_dst, weights_of(block), diff_src, plane, sources);
}

/// The same for all channels.
template <class T>
void DepthwiseLayer<T>::find_all_gradients(const Samples& samples, std::int64_t sample,
                                           const RowRange& rows, double* sums) const {
  kernels_.wide_gradients(
      src_again_ + src_layout_.offset(src_place_again_.row_of(sample, samples), 0),
      diff_dst_ + dst_layout_.offset(sample, 0), weights_,
      diff_src_ + src_layout_.offset(sample, 0),
      plane_of_all(samples.count * src_layout_.sample_elements()), rows, sums);
}

template <class T>
void DepthwiseLayer<T>::backward(bool accumulate, const Samples& samples) {
  const std::int64_t blocks = src_layout_.blocks;
  for_each_piece(samples, [&](std::int64_t sample, std::int64_t block, std::int64_t piece) {
    const std::int64_t part = (sample - samples.first) * pieces() + piece;
    double* const sums = sums_ + (part * blocks + block) * kSums;
    std::fill_n(sums, is_wide_ ? blocks * kSums : kSums, 0.0);
    if (is_wide_) return find_all_gradients(samples, sample, rows_of(piece), sums);
    find_gradients(samples, sample, block, rows_of(piece), sums);
  });
  add_sums(samples.count * pieces(), accumulate || samples.first > 0);
}

template <class T>
void DepthwiseLayer<T>::add_sums(std::int64_t parts, bool accumulate) {
  const std::int64_t blocks = src_layout_.blocks;
  float* const gradient = target_.begin(accumulate);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t tap = 0; tap < DepthwisePlane::kTaps; ++tap) {
      double sum[DepthwisePlane::kBlock] = {};  // per lane, so that additions are vectorised
      for (std::int64_t part = 0; part < parts; ++part) {
        const double* const of_part =
            sums_ + (part * blocks + block) * kSums + tap * DepthwisePlane::kBlock;
        for (std::int64_t lane = 0; lane < DepthwisePlane::kBlock; ++lane) {
          sum[lane] += of_part[lane];
        }
      }
      float* const to = gradient + block * weights_floats() + tap * src_layout_.width;
      for (int lane = 0; lane < src_layout_.width; ++lane) to[lane] = static_cast<float>(sum[lane]);
    }
  }
  target_.finish(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_depthwise(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<DepthwiseLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<DepthwiseLayer<float>>(operation, planner);
}

}  // namespace nn
